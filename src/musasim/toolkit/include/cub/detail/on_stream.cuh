// How the device-wide algorithms run: each is one thread of a kernel, in the order of its stream.
#pragma once

#include <cstddef>

#include "cub/util_type.cuh"
#include "musa_runtime.h"
#include "musasim/device_functions.h"

CUB_NAMESPACE_BEGIN
namespace detail {

template <class Algorithm>
__global__ void device_algorithm(Algorithm algorithm) {
  algorithm();
}

template <class Algorithm>
musaError_t on_stream(musaStream_t stream, Algorithm algorithm) {
  device_algorithm<Algorithm><<<1, 1, 0, stream>>>(algorithm);
  return musaPeekAtLastError();
}

// The protocol of two calls: the first, without storage, returns the size needed. The simulated device needs none, but says one byte.
template <class Algorithm>
musaError_t in_two_calls(void* storage, std::size_t& bytes, musaStream_t stream, Algorithm algorithm) {
  if (storage == nullptr) {
    bytes = 1;
    return musaSuccess;
  }
  if (bytes < 1) return musaErrorInvalidValue;
  return on_stream(stream, algorithm);
}

}  // namespace detail
CUB_NAMESPACE_END
