#include "kernel_name.h"

namespace musasim::mccl {
namespace {

using c10d::OpType;
using c10d::ReduceOp;

constexpr size_t kMostInLines = 64 << 10; // bytes that the protocol LL sends; the library's own choice depends on the machine

const char* work_of(OpType type) {
  switch (type) {
    case OpType::ALLREDUCE:
    case OpType::BARRIER: // of one number
      return "AllReduce";
    case OpType::REDUCE:
      return "Reduce";
    case OpType::REDUCE_SCATTER:
    case OpType::_REDUCE_SCATTER_BASE:
      return "ReduceScatter";
    case OpType::ALLGATHER:
    case OpType::_ALLGATHER_BASE:
      return "AllGather";
    case OpType::BROADCAST:
      return "Broadcast";
    default:
      return "SendRecv";
  }
}

const char* reduction_of(const Operation& operation) {
  const bool is_of_floats = at::isFloatingType(operation.dtype) || at::isComplexType(operation.dtype);
  switch (static_cast<ReduceOp::RedOpType>(operation.reduction)) {
    case ReduceOp::PRODUCT:
      return "Prod";
    case ReduceOp::MIN:
      return "Min";
    case ReduceOp::MAX:
      return "Max";
    case ReduceOp::PREMUL_SUM:
      return "PreMulSum";
    case ReduceOp::AVG:
      return is_of_floats ? "PreMulSum" : "SumPostDiv";
    default:
      return operation.dtype == at::kBool ? "Max" : "Sum";
  }
}

const char* type_of(at::ScalarType dtype) {
  switch (at::toRealValueType(dtype)) {
    case at::kChar:
      return "int8_t";
    case at::kInt:
      return "int32_t";
    case at::kLong:
      return "int64_t";
    case at::kHalf:
      return "half";
    case at::kBFloat16:
      return "__mt_bfloat16";
    case at::kFloat:
      return "float";
    case at::kDouble:
      return "double";
    default:
      return "uint8_t";
  }
}

} // namespace

std::string kernel_name(const Operation& operation, size_t bytes) {
  const bool is_barrier = operation.type == OpType::BARRIER;
  const std::string what = is_barrier ? "Sum_float"
      : operation.reduction < 0      ? "Sum_int8_t"
                                     : std::string(reduction_of(operation)) + "_" + type_of(operation.dtype);
  const char* protocol = bytes <= kMostInLines ? "LL" : "SIMPLE";
  return std::string("mcclKernel_") + work_of(operation.type) + "_RING_" + protocol + "_" + what + "(mcclWorkElem)";
}

} // namespace musasim::mccl
