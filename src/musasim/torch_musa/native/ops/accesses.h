#pragma once

#include "signature.h"

#include "musart/driver.h"

#include <ATen/core/stack.h>
#include <c10/core/Stream.h>

#include <optional>
#include <vector>

namespace musasim {

using Accesses = std::vector<musart::streamcheck::Access>;

// Whether MUSASIM_STREAMCHECK wants to know of work. What a capture runs is not the device's yet.
bool notes_accesses();
// Triton's launches name their tensors alone, and not which of them they write.
bool says_what_it_writes(const c10::OperatorHandle& op);

void add_access(const at::Tensor& tensor, musart::streamcheck::Kind kind, Accesses& accesses);

// What an operator reads and writes of the device's memory, told as work of the current stream when it has run.
class OperatorAccesses {
 public:
  OperatorAccesses(const c10::OperatorHandle& op, const Signature& signature, const torch::jit::Stack& stack);
  void tell(const torch::jit::Stack& stack, c10::DeviceIndex device);

 private:
  bool is_argument(const at::Tensor& tensor) const;

  const c10::OperatorHandle& op_;
  Accesses accesses_;
  std::vector<const void*> storages_; // of the arguments
};

} // namespace musasim
