#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

__global__ void saxpy_kernel(float a, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

void saxpy(double a, torch::Tensor x, torch::Tensor y) {
  TORCH_CHECK(x.is_cuda() && y.is_cuda(), "x and y must be on the GPU");
  const int n = static_cast<int>(x.numel());
  saxpy_kernel<<<(n + 127) / 128, 128, 0, at::cuda::getCurrentCUDAStream()>>>(
      static_cast<float>(a), x.data_ptr<float>(), y.data_ptr<float>(), n);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("saxpy", &saxpy);
}
