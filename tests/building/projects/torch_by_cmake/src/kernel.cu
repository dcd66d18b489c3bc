#include "launch.cuh"

__global__ void kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i] + 1.0f;
}

cudaError_t launch(const float* x, float* y, int n, cudaStream_t stream) {
  kernel<<<(n + 31) / 32, 32, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
