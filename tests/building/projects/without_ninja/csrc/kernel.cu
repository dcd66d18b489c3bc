#include <cuda_runtime.h>

namespace {
__global__ void kernel(const float *x, float *y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = 2.0f * x[threadIdx.x] + 1.0f;
}
}  // namespace

int run_cuda(const float *x, float *y, int n) {
  kernel<<<1, n>>>(x, y, n);
  return cudaGetLastError() ? 1 : cudaDeviceSynchronize();
}
