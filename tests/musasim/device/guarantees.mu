// What kernels rely on beyond the C++ standard. Optimised without care, each of these gives other numbers.
#include <cstdint>

#include "on_device.h"

__device__ __noinline__ float stored_as_bits(float* number, unsigned* bits) {
  *number = 1.0f;
  *bits = 0x40000000u;
  return *number;
}
MAP1(reinterpreted, float, float, (static_cast<void>(a), stored_as_bits(&y[i], reinterpret_cast<unsigned*>(&y[i]))))

// As many extensions load eight halves at a time.
__device__ __noinline__ int last_of_vector(const uint4* vectors, unsigned short* values, int changed) {
  const uint4 before = *vectors;
  values[7] = static_cast<unsigned short>(changed);
  return static_cast<int>(vectors->w >> 16) - static_cast<int>(before.w >> 16);
}
__global__ void vectors_kernel(int* y) {
  __align__(16) unsigned short values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  y[threadIdx.x] = last_of_vector(reinterpret_cast<const uint4*>(values), values, 100 + static_cast<int>(threadIdx.x));
}

MAP1(grows, int, int, a + 1 > a)
__device__ __noinline__ int steps_to(int last) {
  int count = 0;
  for (int at = last - 2; at <= last; ++at) {
    if (++count == 10) break;
  }
  return count;
}
MAP1(steps, int, int, steps_to(a))

// In a class, the name of a template may come to mean one of its instances.
template <class T>
struct Scan {
  __device__ T of(T x) const { return 2 * x; }
};
template <class T>
struct User {
  using Scan = Scan<T>;
  Scan scan;
};
MAP1(renamed, int, int, User<int>().scan.of(a))

struct Rows {
  int first[4], second[4];
};
__device__ __noinline__ int sum_over_both(const Rows* rows, int stop) {
  int sum = 0;
  for (int at = 0; at < 8; ++at) {
    sum += rows->first[at];
    if (at == stop) break;
  }
  return sum;
}
__global__ void members_kernel(const Rows* rows, int* y) { y[threadIdx.x] = sum_over_both(rows, static_cast<int>(threadIdx.x)); }

// Collatz from zero never ends, and nobody looks at where it ends.
__global__ void endless_kernel(unsigned n) {
  while (n != 1) n = n % 2 == 1 ? 3 * n + 1 : n / 2;
}

__global__ void addresses_kernel(unsigned long long* y) {
  extern __shared__ __align__(1024) char dynamic[];
  __shared__ __align__(128) char lines[3];
  __shared__ double numbers[3];
  __shared__ alignas(256) char line[3], next[3];
  y[0] = reinterpret_cast<std::uintptr_t>(dynamic) % 1024;
  y[1] = reinterpret_cast<std::uintptr_t>(lines) % 128;
  y[2] = reinterpret_cast<std::uintptr_t>(numbers) % alignof(double);
  y[3] = (reinterpret_cast<std::uintptr_t>(line) | reinterpret_cast<std::uintptr_t>(next)) % 256;
}

extern "C" int vectors(int* y) {
  Buffer<int> device_y(y, 4);
  vectors_kernel<<<1, 4>>>(device_y.data());
  device_y.back();
  return finished();
}
extern "C" int members(int* values, int* y) {
  Buffer<int> device_values(values, 8);
  Buffer<int> device_y(y, 8);
  members_kernel<<<1, 8>>>(reinterpret_cast<const Rows*>(device_values.data()), device_y.data());
  device_y.back();
  return finished();
}
extern "C" int endless() {
  endless_kernel<<<1, 1>>>(0);
  return finished();
}
extern "C" int addresses(unsigned long long* y) {
  Buffer<unsigned long long> device_y(y, 4);
  addresses_kernel<<<1, 1, 64>>>(device_y.data());
  device_y.back();
  for (int odd = 1; odd < 2000; odd += 333) {
    void* memory = nullptr;
    musaMalloc(&memory, static_cast<std::size_t>(odd));
    y[0] |= reinterpret_cast<std::uintptr_t>(memory) % 256;
  }
  return finished();
}
