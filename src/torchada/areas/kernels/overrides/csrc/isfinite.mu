// torch.isfinite of floating-point numbers, in one pass: PyTorch's own makes three and ends in a product of booleans, for which
// torch_musa before 2.13.0 makes the host wait.
#include "override.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

#include "torch_musa/csrc/aten/musa/MUSAContext.h"
#include "torch_musa/csrc/core/MUSAGuard.h"

#include <algorithm>

namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 65535;

template <typename scalar_t>
__global__ void isfinite_kernel(const scalar_t* values, bool* out, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const auto value = static_cast<at::opmath_type<scalar_t>>(values[i]);
    out[i] = value - value == 0; // NaN for NaN and for the infinities
  }
}

at::Tensor is_finite(const at::Tensor& self) {
  if (!at::isFloatingType(self.scalar_type())) {
    return torchada::original<&is_finite>(self); // complex numbers; integers, which are all finite
  }
  const c10::musa::MUSAGuard guard(self.device());
  const auto values = self.is_non_overlapping_and_dense() ? self : self.contiguous();
  auto out = at::empty_like(values, values.options().dtype(at::kBool)); // of the same strides
  const int64_t count = values.numel();
  if (count == 0) {
    return out;
  }
  const auto blocks = static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMaxBlocks));
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, values.scalar_type(), "isfinite", [&] {
    isfinite_kernel<scalar_t><<<blocks, kThreads, 0, at::musa::getCurrentMUSAStream()>>>(
        values.const_data_ptr<scalar_t>(), out.mutable_data_ptr<bool>(), count);
    C10_MUSA_KERNEL_LAUNCH_CHECK();
  });
  return out;
}

} // namespace

TORCHADA_OVERRIDE("isfinite", is_finite, "2.13.0");
