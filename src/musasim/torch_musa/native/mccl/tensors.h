#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <vector>

namespace musasim::mccl {

using Tensors = std::vector<at::Tensor>;

// Checks that the library accepts the tensor: a dense one on a device, of a type it knows, and contiguous if `packed`.
void check_tensor(const at::Tensor& tensor, bool packed = true);
// The same of one that is sent or received, whose dimensions may lie in memory in any order.
void check_message(const at::Tensor& tensor);
// The library knows no complex numbers. Sums and broadcasts give them to it as pairs; torch does so for most of the others.
at::Tensor as_pairs(const at::Tensor& tensor);
void check_tensors(const Tensors& tensors, bool packed = true);
// The one tensor of a list: a process has one device.
const at::Tensor& only(const Tensors& tensors);
void check_reduction(const at::Tensor& tensor, const c10d::ReduceOp& op, const char* of);

// The tensor's memory as the host sees it, without a copy: a flat tensor, with complex numbers as pairs and booleans as
// bytes. It does not own the memory, so `tensor` has to live longer.
at::Tensor elements_on_host(const at::Tensor& tensor);
at::Tensor bytes_on_host(const at::Tensor& tensor);

// Concatenates the elements of tensors in host memory, and copies them back.
at::Tensor gathered_bytes(const Tensors& tensors);
void scatter_bytes(const at::Tensor& bytes, const Tensors& tensors);

// The operation that gloo runs instead of `op`, and the remaining step on its result.
c10d::ReduceOp::RedOpType transport_operation(const at::Tensor& tensor, const c10d::ReduceOp& op);
void finish_reduction(const at::Tensor& on_host, const c10d::ReduceOp& op, int ranks);

} // namespace musasim::mccl
