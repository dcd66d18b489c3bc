// The checks of out_dtype in mm and bmm, as on CUDA.
#pragma once

#include "override.h"

#include <ATen/core/Tensor.h>

namespace torchada {

inline void check_out_dtype(const at::Tensor& self, const at::Tensor& other, at::ScalarType out_dtype) {
  const auto dtype = self.scalar_type();
  TORCH_CHECK(dtype == other.scalar_type(), "expected both matrices to have one dtype, got ", dtype, " and ", other.scalar_type());
  const bool widened = out_dtype == at::kFloat && (dtype == at::kHalf || dtype == at::kBFloat16);
  TORCH_CHECK(out_dtype == dtype || widened, "out_dtype must be the dtype of the matrices, or float32 for float16 and bfloat16");
}

} // namespace torchada
