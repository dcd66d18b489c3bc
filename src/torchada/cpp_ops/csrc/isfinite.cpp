// torch.isfinite of floating-point numbers: PyTorch's own ends in a product of truth values, for which torch_musa before 2.13.0
// makes the host wait. Neither NaN nor an infinity is less than infinity.
#include "override.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/lt.h>

#include <limits>

static at::Tensor isfinite(const at::Tensor& self) {
  if (!at::isFloatingType(self.scalar_type())) {
    return torchada::original<&isfinite>(self); // complex numbers; the others are finite
  }
  return at::lt(at::abs(self), std::numeric_limits<double>::infinity());
}

TORCHADA_OVERRIDE("isfinite", isfinite, "2.13.0");
