#include "tensors.h"

#include "../ops/alias.h"
#include "../runtime/device.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/util/Exception.h>

namespace musasim::mccl {
namespace {

using c10d::ReduceOp;

bool is_float8(at::ScalarType type) {
  return c10::isFloat8Type(type);
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
    case at::kComplexFloat:
    case at::kComplexDouble:
      return true;
    default:
      return is_float8(type);
  }
}

at::Tensor stand_in(const at::Tensor& tensor) {
  return AliasTable(tensor.device()).to_cpu(tensor);
}

// Contiguous in memory in some order of dimensions, so that a copy of the bytes reproduces it.
at::Tensor in_a_row(const at::Tensor& on_host) {
  return on_host.as_strided({on_host.numel()}, {1});
}

const char* name_of(ReduceOp::RedOpType op) {
  switch (op) {
    case ReduceOp::BAND:
      return "ReduceOp.BAND";
    case ReduceOp::BOR:
      return "ReduceOp.BOR";
    case ReduceOp::BXOR:
      return "ReduceOp.BXOR";
    case ReduceOp::PREMUL_SUM:
      return "ReduceOp.PREMUL_SUM";
    default:
      return "this ReduceOp";
  }
}

} // namespace

void check_tensor(const at::Tensor& tensor, bool packed) {
  TORCH_CHECK_VALUE(
      tensor.defined() && tensor.device().type() == kMusa && tensor.layout() == at::kStrided,
      "Tensors must be MUSA and dense");
  TORCH_CHECK_TYPE(
      is_supported(tensor.scalar_type()),
      "Input tensor data type is not supported for MCCL process group: ",
      tensor.scalar_type());
  TORCH_CHECK_VALUE(
      !packed || tensor.is_contiguous(tensor.suggest_memory_format()), "Tensors must be contiguous");
}

void check_tensors(const Tensors& tensors, bool packed) {
  TORCH_CHECK_VALUE(!tensors.empty(), "Tensor list must be nonempty");
  for (const auto& tensor : tensors) {
    check_tensor(tensor, packed);
    TORCH_CHECK_VALUE(
        tensor.scalar_type() == tensors[0].scalar_type(), "Tensors must have identical type");
    TORCH_CHECK_VALUE(tensor.device() == tensors[0].device(), "Expected list of tensors on the same device");
  }
}

const at::Tensor& only(const Tensors& tensors) {
  TORCH_CHECK_VALUE(tensors.size() == 1, "Expecting one tensor only but got ", tensors.size());
  return tensors[0];
}

void check_reduction(const at::Tensor& tensor, const ReduceOp& op) {
  switch (op.op_) {
    case ReduceOp::SUM:
      break;
    case ReduceOp::AVG:
      TORCH_CHECK_TYPE(tensor.scalar_type() != at::kBool, "Cannot use ReduceOp.AVG with Boolean inputs");
      break;
    case ReduceOp::PRODUCT:
    case ReduceOp::MIN:
    case ReduceOp::MAX:
      TORCH_CHECK(!tensor.is_complex(), "all_reduce does not support this reduce operation on complex tensors");
      break;
    default:
      TORCH_CHECK_VALUE(false, "Cannot use ", name_of(op.op_), " with MCCL");
  }
  TORCH_CHECK_TYPE(
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
