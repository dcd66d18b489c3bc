// Thrust, muRAND and the numbers of eight bits.
#include <musa_fp8.h>
#include <murand_kernel.h>
#include <thrust/complex.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/reverse_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/tuple.h>
#include <thrust/unique.h>
#include <thrust/count.h>

#include <musa/std/limits>

#include "on_device.h"

// --- Thrust -----------------------------------------------------------------------------------------------------------------------

struct Halve {
  __device__ float operator()(int value) const { return value / 2.0f; }
};
struct IsOdd {
  __device__ bool operator()(int value) const { return value % 2 != 0; }
};
struct First {
  __device__ bool operator()(const thrust::tuple<int, float>& a, const thrust::tuple<int, float>& b) const {
    return thrust::get<0>(a) < thrust::get<0>(b);
  }
};

// Functions of the number (in[0], in[1]), as pairs.
extern "C" int thrust_complex_functions(double* in, double* out) {
  using Number = thrust::complex<double>;
  const Number z(in[0], in[1]);
  const Number results[] = {
      thrust::exp(z), thrust::log(z), thrust::log10(z), thrust::sqrt(z), thrust::sin(z), thrust::cos(z), thrust::tan(z),
      thrust::asin(z), thrust::acos(z), thrust::atan(z), thrust::sinh(z), thrust::cosh(z), thrust::tanh(z), thrust::asinh(z),
      thrust::acosh(z), thrust::atanh(z), thrust::conj(z), thrust::proj(z), thrust::abs(z), thrust::arg(z), thrust::norm(z)};
  for (const auto& each : results) {
    *out++ = each.real();
    *out++ = each.imag();
  }
  return finished();
}

// Rows of n: sorted, the order, halves, inclusive sums, exclusive sums from 5, the odd ones, the distinct ones, their sums by key.
extern "C" int thrust_rows(int* in, float* out, long n) {
  const thrust::host_vector<int> given(in, in + n);
  thrust::device_vector<int> values = given;
  thrust::device_vector<float> rows(8 * n, -1.0f);
  const auto row = [&](int i) { return rows.begin() + i * n; };
  thrust::device_vector<int> keys = values, order(n);
  thrust::sequence(order.begin(), order.end());
  thrust::sort_by_key(keys.begin(), keys.end(), order.begin());
  thrust::copy(keys.begin(), keys.end(), row(0));
  thrust::copy(order.begin(), order.end(), row(1));
  thrust::transform(values.begin(), values.end(), row(2), Halve());
  thrust::inclusive_scan(values.begin(), values.end(), row(3));
  thrust::exclusive_scan(thrust::device, thrust::raw_pointer_cast(values.data()), thrust::raw_pointer_cast(values.data()) + n, row(4), 5);
  thrust::copy_if(values.begin(), values.end(), row(5), IsOdd());
  thrust::device_vector<int> distinct(n), sums(n);
  const auto ends = thrust::reduce_by_key(keys.begin(), keys.end(), order.begin(), distinct.begin(), sums.begin());
  const long kept = thrust::unique(keys.begin(), keys.end()) - keys.begin();
  if (ends.first - distinct.begin() != kept) return -1;
  thrust::copy(keys.begin(), keys.begin() + kept, row(6));
  thrust::copy_n(sums.begin(), kept, row(7));
  thrust::copy(rows.begin(), rows.end(), out);
  return finished();
}

// On a stream, with raw pointers; and what comes back to the host.
extern "C" int thrust_results(int* in, double* out, long n) {
  musaStream_t stream;
  musaStreamCreate(&stream);
  Buffer<int> buffer(in, n);
  const auto policy = thrust::musa::par.on(stream);
  int* const first = buffer.data();
  int* const last = first + n;
  out[0] = thrust::reduce(policy, first, last, 0, thrust::maximum<int>());
  out[1] = thrust::transform_reduce(policy, first, last, Halve(), 0.0, thrust::plus<double>());
  out[2] = static_cast<double>(thrust::count_if(policy, first, last, IsOdd()));
  out[3] = static_cast<double>(thrust::max_element(policy, first, last) - first);
  out[4] = thrust::reduce(thrust::counting_iterator<int>(1), thrust::counting_iterator<int>(101));
  thrust::device_ptr<int> pointer(first);
  pointer[0] = 41;
  pointer[0] += 1;
  out[5] = pointer[0];
  thrust::device_vector<int> keys(pointer, pointer + n);
  thrust::device_vector<float> weights(n);
  thrust::transform(keys.begin(), keys.end(), weights.begin(), Halve());
  const auto pairs = thrust::make_zip_iterator(thrust::make_tuple(keys.begin(), weights.begin()));
  thrust::sort(thrust::device, pairs, pairs + n, First());
  out[6] = thrust::is_sorted(keys.begin(), keys.end()) && thrust::is_sorted(weights.begin(), weights.end());
  keys.push_back(musa::std::numeric_limits<int>::max());
  out[7] = keys.back();
  keys.resize(2);
  out[8] = static_cast<double>(keys.size());
  const thrust::reverse_iterator<int*> from_behind = thrust::make_reverse_iterator(last);
  out[9] = static_cast<double>(thrust::find(policy, from_behind, from_behind + n, in[n - 3]) - from_behind);
  musaStreamDestroy(stream);
  return finished();
}

// --- muRAND -----------------------------------------------------------------------------------------------------------------------

MAP3(philox_block, uint4, uint4, uint2, int, murand_Philox4x32_10(a, b))

template <class State>
__global__ void draw(unsigned* bits, float* uniform, float* normal, unsigned long long seed, unsigned long long offset, int n) {
  State state;
  murand_init(seed, threadIdx.x, offset, &state);
  State copy = state, other = state;
  for (int i = 0; i < n; ++i) {
    const long place = static_cast<long>(threadIdx.x) * n + i;
    bits[place] = murand(&state);
    uniform[place] = murand_uniform(&copy);
    normal[place] = murand_normal(&other);
  }
}
template <class State>
int run_draw(unsigned* bits, float* uniform, float* normal, long seed, long offset, long threads, long n) {
  Buffer<unsigned> device_bits(bits, threads * n);
  Buffer<float> device_uniform(uniform, threads * n), device_normal(normal, threads * n);
  draw<State><<<1, static_cast<unsigned>(threads)>>>(device_bits.data(), device_uniform.data(), device_normal.data(),
                                                     static_cast<unsigned long long>(seed), static_cast<unsigned long long>(offset),
                                                     static_cast<int>(n));
  device_bits.back();
  device_uniform.back();
  device_normal.back();
  return finished();
}
extern "C" int draw_philox(unsigned* b, float* u, float* g, long seed, long offset, long threads, long n) {
  return run_draw<murandStatePhilox4_32_10_t>(b, u, g, seed, offset, threads, n);
}
extern "C" int draw_xorwow(unsigned* b, float* u, float* g, long seed, long offset, long threads, long n) {
  return run_draw<murandState_t>(b, u, g, seed, offset, threads, n);
}
__global__ void fours(float4* uniform, unsigned* counts, double mean, int n) {
  murandStatePhilox4_32_10_t state;
  murand_init(7, 0, 1, &state);
  for (int i = 0; i < n; ++i) uniform[i] = murand_uniform4(&state);
  for (int i = 0; i < n; ++i) counts[i] = murand_poisson(&state, mean);
}
extern "C" int draw_fours(float4* uniform, unsigned* counts, long mean, long n) {
  Buffer<float4> device_uniform(uniform, n);
  Buffer<unsigned> device_counts(counts, n);
  fours<<<1, 1>>>(device_uniform.data(), device_counts.data(), static_cast<double>(mean), static_cast<int>(n));
  device_uniform.back();
  device_counts.back();
  return finished();
}

// --- eight bits -------------------------------------------------------------------------------------------------------------------

MAP1(to_e4m3, unsigned char, float, __musa_cvt_float_to_fp8(a, __MT_NOSAT, __MT_E4M3))
MAP1(to_e5m2, unsigned char, float, __musa_cvt_float_to_fp8(a, __MT_NOSAT, __MT_E5M2))
MAP1(to_e4m3_finite, unsigned char, float, __mt_fp8_e4m3(a).__x)
MAP1(to_e5m2_finite, unsigned char, float, static_cast<unsigned char>(__mt_fp8x2_e5m2(make_float2(0, a)).__x >> 8))
MAP1(from_e4m3, float, unsigned char, __half2float(__musa_cvt_fp8_to_halfraw(a, __MT_E4M3)))
MAP1(from_e5m2, float, unsigned char, __half2float(__musa_cvt_fp8_to_halfraw(a, __MT_E5M2)))
