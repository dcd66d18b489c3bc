#include <cstdio>

#include <cuda_runtime.h>

extern "C" int run(const float* x, float* y, int n);

int main() {
  float x[3] = {1, 2, 3}, y[3], *a, *b;
  cudaMalloc(&a, sizeof x);
  cudaMalloc(&b, sizeof y);
  cudaMemcpy(a, x, sizeof x, cudaMemcpyHostToDevice);
  const int error = run(a, b, 3);
  cudaMemcpy(y, b, sizeof y, cudaMemcpyDeviceToHost);
  std::printf("%d %g %g %g\n", error, y[0], y[1], y[2]);
  return error;
}
