#include <cuda_runtime.h>
#include <vector>

extern "C" int run(const float *x, float *y, int n) {
  std::vector<float> host(n);
  if (cudaMemcpy(host.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return -1;
  for (auto &each : host) each = 2 * each + 1;
  return cudaMemcpy(y, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
}
