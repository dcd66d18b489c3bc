#include <arithmetic.cuh>

#include "../../elsewhere/entry.h"

__global__ void kernel(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = transformed(x[i]);
}

int launch(const float* x, float* y, int n) {
  kernel<<<1, 32>>>(x, y, n);
  return finish(nullptr);
}
