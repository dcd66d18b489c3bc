#include <cuda_fp16.h>
#include <cuda_runtime.h>
#define KERNEL "kernel.cuh"
#include KERNEL

extern "C" int run(const float *x, float *y, int n) {
  __half two = __float2half(2.0f);
  if (__half2float(two) != 2.0f) return -1;
  kernel<float><<<1, 32, 32 * sizeof(float)>>>(x, y, n);
  return cudaDeviceSynchronize();
}
