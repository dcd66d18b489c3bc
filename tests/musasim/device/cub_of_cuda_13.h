// The names that CUB lost in CUDA 13, and one of MUSA's own, where nvcc compiles these tests. mcc has them.
#pragma once

#ifdef __CUDACC__
#include <cuda/functional>
#include <cuda/std/functional>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#define __syncthreads_lm __syncthreads
namespace cub {
using Max = cuda::maximum<>;
using Min = cuda::minimum<>;
using Sum = cuda::std::plus<>;
using Inequality = cuda::std::not_equal_to<>;
template <class T>
using CountingInputIterator = thrust::counting_iterator<T>;
template <class Out, class Function, class In>
using TransformInputIterator = thrust::transform_iterator<Function, In, Out>;
}  // namespace cub
#endif
