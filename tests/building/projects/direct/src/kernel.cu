#include <cuda_runtime.h>
#include <scale.cuh>

__global__ void kernel(const float *x, float *y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = SCALE * x[threadIdx.x] + 1;
}

int launch(const float *x, float *y, int n) {
  kernel<<<1, n>>>(x, y, n);
  return cudaDeviceSynchronize();
}
