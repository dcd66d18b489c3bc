#include "kernel.cuh"

#include <cuda.h>
#include <cuda_runtime.h>

constexpr float one() { return 1.0f; }

__global__ void kernel(const float *__restrict__ x, float *__restrict__ y, int n) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return;
#endif
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = SCALE * __ldg(x + i) + 1.0f;
}

void launch(const float *x, float *y, int n) { kernel<<<4, 64>>>(x, y, n); }
