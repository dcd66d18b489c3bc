#include "kernel_name.h"

#include "numbers.h"

namespace musasim::libmccl {
namespace {

constexpr size_t kMostInLines = 64 << 10; // bytes that the protocol LL sends; the library's own choice depends on the machine

const char* work_of(Kind kind) {
  switch (kind) {
    case Kind::AllReduce:
      return "AllReduce";
    case Kind::Reduce:
      return "Reduce";
    case Kind::ReduceScatter:
      return "ReduceScatter";
    case Kind::AllGather:
      return "AllGather";
    case Kind::Broadcast:
      return "Broadcast";
    default:
      return "SendRecv";
  }
}

const char* type_of(mcclDataType_t type) {
  switch (type) {
    case mcclInt8:
      return "int8_t";
    case mcclInt32:
      return "int32_t";
    case mcclUint32:
      return "uint32_t";
    case mcclInt64:
      return "int64_t";
    case mcclUint64:
      return "uint64_t";
    case mcclFloat16:
      return "half";
    case mcclBfloat16:
      return "__mt_bfloat16";
    case mcclFloat32:
      return "float";
    case mcclFloat64:
      return "double";
    default:
      return "uint8_t";
  }
}

const char* reduction_of(const Call& call) {
  switch (call.op) {
    case mcclSum:
      return "Sum";
    case mcclProd:
      return "Prod";
    case mcclMax:
      return "Max";
    case mcclMin:
      return "Min";
    case mcclAvg:
      return call.type >= mcclFloat16 ? "PreMulSum" : "SumPostDiv";
    default:
      return "PreMulSum";
  }
}

std::string computed(const Call& call) {
  const bool is_reduction = call.kind == Kind::AllReduce || call.kind == Kind::Reduce || call.kind == Kind::ReduceScatter;
  return is_reduction ? std::string(reduction_of(call)) + "_" + type_of(static_cast<mcclDataType_t>(call.type)) : "Sum_int8_t";
}

} // namespace

std::string kernel_name(const Communicator& member, const Operation& operation) {
  const auto& call = operation.call;
  const auto shares = static_cast<size_t>(call.kind == Kind::ReduceScatter ? member.ranks : 1);
  const size_t bytes = call.count * size_of(static_cast<mcclDataType_t>(call.type)) * shares;
  const char* protocol = bytes <= kMostInLines ? "LL" : "SIMPLE";
  return std::string("mcclKernel_") + work_of(call.kind) + "_RING_" + protocol + "_" + computed(call) + "(mcclWorkElem)";
}

} // namespace musasim::libmccl
