#include <cuda_runtime.h>
#include "pack.cuh"

// Größe: "cudaMalloc" in a comment stays what it is.
__global__ void kernel(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i] + 1.0f;
}

extern "C" int run(const float *x, float *y, int n) {
  kernel<<<(n + 127) / 128, 128>>>(x, y, n);
  return cudaDeviceSynchronize();
}
