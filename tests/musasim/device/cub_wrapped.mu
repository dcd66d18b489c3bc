// CUB inside another namespace, as PyTorch includes it, beside a program's own namespace of the name cub.
#ifndef CUB_WRAPPED_NAMESPACE
#define CUB_NS_PREFIX namespace wrapped {
#define CUB_NS_POSTFIX }
#define CUB_NS_QUALIFIER ::wrapped::cub
#endif
#include <cub/cub.cuh>
#undef CUB_NS_PREFIX
#undef CUB_NS_POSTFIX
#undef CUB_NS_QUALIFIER
#include <thrust/execution_policy.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/transform_reduce.h>

#include "on_device.h"

namespace cub {
struct DeviceScan {};
}  // namespace cub

template <class Algorithm>
int in_two_calls(Algorithm algorithm) {
  std::size_t bytes = 0;
  void* storage = nullptr;
  if (algorithm(storage, bytes) != musaSuccess) return -1;
  musaMalloc(&storage, bytes);
  const musaError_t error = algorithm(storage, bytes);
  musaDeviceSynchronize();
  musaFree(storage);
  return error != musaSuccess ? error : finished();
}

__global__ void write(int* place, int value) { *place = value; }

// The initial value is written by a kernel that is still to run when the scan is called.
extern "C" int scan_from_a_future_value(int* in, int* out, int initial, long n) {
  Buffer<int> device_in(in, n), device_out(out, n);
  int* start;
  musaMalloc(reinterpret_cast<void**>(&start), sizeof(int));
  const wrapped::cub::FutureValue<int> later(start);
  write<<<1, 1>>>(start, initial);
  const int error = in_two_calls([&](void* s, std::size_t& b) {
    return wrapped::cub::DeviceScan::ExclusiveScan(s, b, device_in.data(), device_out.data(), wrapped::cub::Sum(), later, static_cast<int>(n));
  });
  device_out.back();
  musaFree(start);
  return error;
}

extern "C" int unique_by_key(int* keys, int* values, int* out, int* count, long n) {
  Buffer<int> device_keys(keys, n), device_values(values, n), device_out(out, 2 * n), device_count(count, 1);
  const int error = in_two_calls([&](void* s, std::size_t& b) {
    return wrapped::cub::DeviceSelect::UniqueByKey(
        s, b, device_keys.data(), device_values.data(), device_out.data(), device_out.data() + n, device_count.data(), static_cast<int>(n));
  });
  device_out.back();
  device_count.back();
  return error;
}

struct Twice {
  __device__ int operator()(int value) const { return 2 * value; }
};

extern "C" int thrust_beside_it(int* out, long n) {
  const thrust::counting_iterator<int> first(0);
  *thrust::discard_iterator<>() = *first;
  *out = thrust::transform_reduce(thrust::device, first, first + n, Twice(), *thrust::constant_iterator<int>(100), thrust::plus<int>());
  return finished();
}
