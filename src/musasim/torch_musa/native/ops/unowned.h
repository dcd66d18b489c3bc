#pragma once

#include "../runtime/capture.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/util/SmallVector.h>

#include <utility>

namespace musasim {

// Tensors over the memory of others, which they do not keep. A graph refers to memory by its address alone, as on a device:
// what a program gives up during a capture is used again by later work of the same pool.
//
// Tensors that are the same, or share a storage, do so afterwards. Tensors of the host keep their memory, because a graph has
// the values of single numbers in it, and so do tensors without a storage of their own (sparse ones). Work that waits in a stream
// refers to memory in the same way.
class Unowned {
 public:
  explicit Unowned(Capture* capture = nullptr) : capture_(capture) {}

  at::Tensor of(const at::Tensor& tensor);
  at::Tensor over(const at::Tensor& tensor); // of the host too
  torch::jit::Stack of(const torch::jit::Stack& values);

 private:
  c10::IValue of(const c10::IValue& value);
  const c10::Storage& storage_over(const c10::Storage& storage);

  Capture* capture_;
  c10::SmallVector<std::pair<c10::Storage, c10::Storage>, 4> storages_;
  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 4> tensors_;
};

} // namespace musasim
