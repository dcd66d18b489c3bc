#include "beside.h"
#include "shared.h"

__global__ void addOne(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += SCALE - 1;
}

void add(float* y, int n, cudaStream_t stream) { addOne<<<blocks(n), 256, 0, stream>>>(y, n); }
