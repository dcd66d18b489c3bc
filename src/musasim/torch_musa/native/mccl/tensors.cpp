#include "tensors.h"

#include "../ops/alias.h"
#include "../runtime/device.h"
#include "refusals.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/util/Exception.h>

namespace musasim::mccl {
namespace {

using c10d::ReduceOp;

bool is_float8(at::ScalarType type) {
  return type == at::kFloat8_e5m2 || type == at::kFloat8_e4m3fn;
}

bool is_supported(at::ScalarType type) {
  switch (type) {
    case at::kHalf:
    case at::kBFloat16:
    case at::kFloat:
    case at::kDouble:
    case at::kChar:
    case at::kByte:
    case at::kInt:
    case at::kLong:
    case at::kBool:
      return true;
    default:
      return is_float8(type);
  }
}

void check_type_of(const at::Tensor& tensor) {
  const auto* is_not = since(Release::v2_9_1) ? "is not" : "in not"; // as 2.7.1 spells it
  check_type(
      is_supported(tensor.scalar_type()),
      "Input tensor data type ",
      is_not,
      " supported for MCCL process group: ",
      tensor.scalar_type());
}

void check_dense(const at::Tensor& tensor) {
  check_value(
      tensor.defined() && tensor.device().type() == kMusa && tensor.layout() == at::kStrided,
      "Tensors must be MUSA and dense");
}

bool is_packed(const at::Tensor& tensor) {
  return tensor.is_contiguous(tensor.suggest_memory_format());
}

at::Tensor stand_in(const at::Tensor& tensor) {
  return AliasTable(tensor.device()).to_cpu(tensor);
}

// Contiguous in memory in some order of dimensions, so that a copy of the bytes reproduces it.
at::Tensor in_a_row(const at::Tensor& on_host) {
  return on_host.as_strided({on_host.numel()}, {1});
}

} // namespace

void check_tensor(const at::Tensor& tensor, bool packed) {
  check_dense(tensor);
  check_type_of(tensor);
  check_value(!packed || is_packed(tensor), "Tensors must be contiguous");
}

void check_message(const at::Tensor& tensor) {
  check_tensor(tensor, /*packed=*/false);
  if (is_packed(tensor)) {
    return;
  }
  check_value(
      !since(Release::v2_9_1) || tensor.is_non_overlapping_and_dense(),
      "Tensors for P2P must be non-overlapping and dense");
  TORCH_WARN_ONCE(
      "Detected non-contiguous tensor in P2P operations. It is user responsibility to guarantee that source and destination "
      "tensors have the same contiguity format.");
}

at::Tensor as_pairs(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_complex() ? at::view_as_real(tensor) : tensor;
}

void check_tensors(const Tensors& tensors, bool packed) {
  check_value(!tensors.empty(), "Tensor list must be nonempty");
  for (const auto& tensor : tensors) {
    check_tensor(tensor, packed);
    check_type(tensor.scalar_type() == tensors[0].scalar_type(), "Tensors must have identical type");
    check_value(tensor.device() == tensors[0].device(), "Expected list of tensors on the same device");
  }
}

const at::Tensor& only(const Tensors& tensors) {
  TORCH_CHECK(tensors.size() == 1, "Expecting one tensor only but got multiple.");
  return tensors[0];
}

void check_reduction(const at::Tensor& tensor, const ReduceOp& op, const char* of) {
  switch (op.op_) {
    case ReduceOp::SUM:
      break;
    case ReduceOp::AVG:
      check_type(tensor.scalar_type() != at::kBool, "Cannot use ReduceOp.AVG with Boolean inputs");
      break;
    case ReduceOp::PRODUCT:
    case ReduceOp::MIN:
    case ReduceOp::MAX:
      TORCH_CHECK(!tensor.is_complex(), of, " does not support", op, "on complex tensors");
      break;
    default:
      check_value(false, "Unexpected ReduceOp: ", op);
  }
  check_type(
      !is_float8(tensor.scalar_type()), "Reductions of ", tensor.scalar_type(), " are not supported by this device");
}

at::Tensor elements_on_host(const at::Tensor& tensor) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  auto on_host = in_a_row(stand_in(tensor));
  if (on_host.is_complex()) {
    return at::view_as_real(on_host).view(-1);
  }
  return tensor.scalar_type() == at::kBool ? on_host.view(at::kByte) : on_host;
}

at::Tensor bytes_on_host(const at::Tensor& tensor) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return in_a_row(stand_in(tensor)).view(at::kByte);
}

at::Tensor gathered_bytes(const Tensors& tensors) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  Tensors rows;
  for (const auto& tensor : tensors) {
    rows.push_back(stand_in(tensor).contiguous().view(-1).view(at::kByte));
  }
  return at::cat(rows);
}

void scatter_bytes(const at::Tensor& bytes, const Tensors& tensors) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  int64_t start = 0;
  for (const auto& tensor : tensors) {
    const auto size = static_cast<int64_t>(tensor.nbytes());
    // Some parts are not aligned for the type, but a copy is.
    const auto part = bytes.narrow(0, start, size).clone();
    stand_in(tensor).copy_(part.view(tensor.scalar_type()).view(tensor.sizes()));
    start += size;
  }
}

ReduceOp::RedOpType transport_operation(const at::Tensor& tensor, const ReduceOp& op) {
  if (tensor.scalar_type() == at::kBool && op.op_ == ReduceOp::SUM) {
    return ReduceOp::MAX; // both are "or"
  }
  return op.op_ == ReduceOp::AVG ? ReduceOp::SUM : op.op_;
}

void finish_reduction(const at::Tensor& on_host, const ReduceOp& op, int ranks) {
  if (op.op_ != ReduceOp::AVG) {
    return;
  }
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  if (on_host.is_floating_point()) {
    on_host.div_(ranks);
  } else {
    on_host.div_(ranks, "trunc");
  }
}

} // namespace musasim::mccl
