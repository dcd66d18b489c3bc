#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/device.h>
#include <torch/csrc/stable/macros.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/core/Dispatch.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/version.h>

#include "operators.h"

#if CUDA_VERSION >= 12080
#error "the build says that this is no newer CUDA"
#endif

namespace {

cudaStream_t current_stream(const Tensor& x) {
  void* stream = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(x.get_device_index(), &stream));
  return static_cast<cudaStream_t>(stream);
}

template <typename scalar_t>
__global__ void scale_kernel(scalar_t* out, const scalar_t* x, float factor, int64_t n) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = static_cast<scalar_t>(factor * static_cast<float>(x[i]));
}

void scale(Tensor& out, const Tensor& x, float factor) {
  STD_TORCH_CHECK(x.is_cuda() && x.device().is_cuda(), "x must be on the device");
  STD_TORCH_CHECK(x.device().type() == torch::headeronly::DeviceType::CUDA);
  STD_TORCH_CHECK(out.element_size() == x.element_size() && out.sizes().size() == x.sizes().size());
  const torch::stable::accelerator::DeviceGuard guard(x.get_device_index());
  const int64_t n = x.numel();
  THO_DISPATCH_SWITCH(
      x.scalar_type(),
      "scale",
      THO_DISPATCH_CASE(torch::headeronly::ScalarType::Float, [&] {
        scale_kernel<scalar_t><<<(n + 63) / 64, 64, 0, current_stream(x)>>>(
            out.mutable_data_ptr<scalar_t>(), x.const_data_ptr<scalar_t>(), factor, n);
      })
      THO_DISPATCH_CASE(torch::headeronly::ScalarType::Half, [&] {
        scale_kernel<scalar_t><<<(n + 63) / 64, 64, 0, current_stream(x)>>>(
            out.mutable_data_ptr<scalar_t>(), x.const_data_ptr<scalar_t>(), factor, n);
      }));
  STD_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace

void negate(Tensor& out, const Tensor& x) { scale(out, torch::stable::contiguous(x), -1.0f); }

Tensor scaled(const Tensor& x, double factor, std::optional<Tensor> added) {
  Tensor out = torch::stable::empty_like(x);
  scale(out, x, static_cast<float>(factor));
  if (added.has_value()) torch::stable::copy_(out, *added);
  return out;
}

std::tuple<Tensor, int64_t> description(Tensor x, bool with_sizes) {
  int64_t told = x.storage_offset();
  for (int64_t dim = 0; with_sizes && dim < x.dim(); ++dim) told = told * 10 + x.sizes()[dim] + x.strides()[dim];
  return {torch::stable::flatten(x), told};
}

#if __has_include(<torch/csrc/stable/c/shim.h>)
#include <torch/csrc/stable/c/shim.h>
#endif

// As the utilities of vLLM's kernels ask: the handle of cuBLAS works in the current stream, also in one of the pool.
bool handle_follows_streams(Tensor x) {
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 11
  const int32_t device = x.get_device_index();
  const cudaStream_t before = current_stream(x);
  void* stream = nullptr;
  void* handle = nullptr;
  cudaStream_t followed = nullptr;
  TORCH_ERROR_CODE_CHECK(torch_get_cuda_stream_from_pool(false, device, &stream));
  TORCH_ERROR_CODE_CHECK(torch_set_current_cuda_stream(stream, device));
  TORCH_ERROR_CODE_CHECK(torch_get_current_cuda_blas_handle(&handle));
  STD_TORCH_CHECK(cublasGetStream(static_cast<cublasHandle_t>(handle), &followed) == CUBLAS_STATUS_SUCCESS);
  const bool right = stream != nullptr && followed == stream && current_stream(x) == stream;
  TORCH_ERROR_CODE_CHECK(torch_set_current_cuda_stream(before, device));
  TORCH_ERROR_CODE_CHECK(torch_cuda_stream_synchronize(stream, device));
  return right && current_stream(x) == before;
#else
  return true;  // torch_musa has these functions from its release for PyTorch 2.11 on
#endif
}
