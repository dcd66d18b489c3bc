// The members of torch::stable::Tensor that need the conversions between types.
#pragma once

#if __has_include(<torch/headeronly/version.h>)
#include <torch/csrc/stable/tensor_struct.h>
#include_next <torch/csrc/stable/tensor_inl.h>
#else

#include <torch/csrc/stable/stableivalue_conversions.h>
#include <torch/csrc/stable/tensor_struct.h>

namespace torch::stable {

// Inline, unlike PyTorch 2.9's own, which can be in one source of an extension only.
inline ScalarType Tensor::scalar_type() const {
  return ::to<ScalarType>(::from(asked<int32_t>(aoti_torch_get_dtype, get())));
}

} // namespace torch::stable

#endif
