#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <vector>

namespace musasim::mccl {

using Tensors = std::vector<at::Tensor>;

// What the library takes: dense tensors of a device, of the types it knows; contiguous in memory where `packed`.
void check_tensor(const at::Tensor& tensor, bool packed = true);
void check_tensors(const Tensors& tensors, bool packed = true);
// The one tensor of a list: a process has one device.
const at::Tensor& only(const Tensors& tensors);
void check_reduction(const at::Tensor& tensor, const c10d::ReduceOp& op);

// The tensor's memory as the host sees it, without a copy: its elements in a row, complex ones as pairs, truth values as
// bytes. Holds nothing: `tensor` has to live longer.
at::Tensor elements_on_host(const at::Tensor& tensor);
at::Tensor bytes_on_host(const at::Tensor& tensor);

// The elements of tensors one behind the other, in memory of the host, and back.
at::Tensor gathered_bytes(const Tensors& tensors);
void scatter_bytes(const at::Tensor& bytes, const Tensors& tensors);

// What gloo is asked for in the place of an operation, and what remains to be done to its result.
c10d::ReduceOp::RedOpType transport_operation(const at::Tensor& tensor, const c10d::ReduceOp& op);
void finish_reduction(const at::Tensor& on_host, const c10d::ReduceOp& op, int ranks);

} // namespace musasim::mccl
