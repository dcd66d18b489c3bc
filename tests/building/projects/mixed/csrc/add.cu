#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "beside.h"
#include "shared.h"

// Torch forbids these conversions to nvcc, but torch_musa's own extensions have them.
__device__ inline float sum(__half x, __nv_bfloat16 y) { return static_cast<float>(x) + static_cast<float>(y); }

__global__ void addOne(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += SCALE - 1;
}

void add(float* y, int n, cudaStream_t stream) { addOne<<<blocks(n), 256, 0, stream>>>(y, n); }
