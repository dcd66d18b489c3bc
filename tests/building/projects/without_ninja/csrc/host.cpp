#include <cuda_runtime.h>

int run_cuda(const float *x, float *y, int n);

extern "C" int run(const float *x, float *y, int n) {
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, x) != cudaSuccess || attributes.type != cudaMemoryTypeDevice) return -1;
  return run_cuda(x, y, n);
}
