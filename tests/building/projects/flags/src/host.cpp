#include <cuda_runtime_api.h>

#include "kernel.cuh"

extern "C" int run(const float *x, float *y, int n) {
  launch(x, y, n);
  return SYNCHRONIZE();
}
