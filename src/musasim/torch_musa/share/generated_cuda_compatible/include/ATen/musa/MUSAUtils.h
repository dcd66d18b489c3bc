#pragma once

#include <ATen/core/Tensor.h>
#include "torch_musa/csrc/aten/musa/MUSAContext.h"
#include <c10/util/ArrayRef.h>

namespace at::musa {

// Whether every tensor is on the current device.
inline bool check_device(at::ArrayRef<at::Tensor> tensors) {
  const at::Device current(kMUSA, current_device());
  for (const auto& tensor : tensors) {
    if (tensor.device() != current) {
      return false;
    }
  }
  return true;
}

} // namespace at::musa
