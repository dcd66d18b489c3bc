#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include "launch.cuh"

static_assert(sizeof(__half) == 2 && CUDART_VERSION >= 11000, "the toolkit's own headers, by CUDA's names");

extern "C" int run(const float* x, float* y, int n) {
  cublasHandle_t handle;
  if (cublasCreate_v2(&handle) != CUBLAS_STATUS_SUCCESS) return -1;
  cublasDestroy_v2(handle);
  const cudaError_t error = launch(x, y, n, nullptr);
  return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}
