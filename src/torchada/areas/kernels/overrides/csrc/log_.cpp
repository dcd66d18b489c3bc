// Tensor.log_() in double precision: torch_musa before 2.11.0.post2 has no such kernel. Every other dtype goes on as before.
#include "override.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/log.h>

static at::Tensor& log_(at::Tensor& self) {
  if (self.scalar_type() != at::kDouble) {
    return torchada::original<&log_>(self);
  }
  return self.copy_(at::log(self));
}

TORCHADA_OVERRIDE("log_", log_, "2.11.0.post2");
