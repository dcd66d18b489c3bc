#include "division.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace musasim {
namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

enum class Result { Quotient, Floor, Remainder };

// What PyTorch's kernels gave on an NVIDIA H100; muDNN's are not public. The device divides numbers below 2**32 in 32 bits.
Tensor divided_by_zero(const Tensor& a, at::ScalarType type, Result result) {
  const auto dividend = a.to(type);
  auto found = at::full_like(dividend, type == at::kByte ? 255 : -1);
  if (type == at::kLong) {
    found.masked_fill_(dividend.ge(0).logical_and_(dividend.lt(int64_t{1} << 32)), int64_t{0xffffffff});
  }
  return result == Result::Floor ? found.sub_(dividend.lt(0).to(type)) : found;
}

Tensor operand(const IValue& value) {
  if (value.isTensor()) {
    return value.toTensor();
  }
  auto number = at::scalar_tensor(value.toScalar(), at::TensorOptions().dtype(value.toScalar().type()));
  number.unsafeGetTensorImpl()->set_wrapped_number(true);
  return number;
}

bool is_whole(at::ScalarType type) {
  return type == at::kByte || type == at::kChar || type == at::kShort || type == at::kInt || type == at::kLong;
}

// None for a division that does not round.
std::optional<Result> rounded(const c10::FunctionSchema& schema, const IValue* arguments, Result result) {
  const auto mode = schema.argumentIndexWithName("rounding_mode");
  if (!mode.has_value()) {
    return result;
  }
  if (arguments[*mode].isNone()) {
    return std::nullopt;
  }
  return arguments[*mode].toStringRef() == "floor" ? Result::Floor : Result::Quotient;
}

template <Result kind>
void divide(const c10::OperatorHandle& op, Stack& stack) {
  const auto& schema = op.schema();
  auto* arguments = stack.data() + (stack.size() - schema.arguments().size());
  const auto a = operand(arguments[0]), b = operand(arguments[1]);
  const auto type = at::result_type(a, b);
  const auto by_zero = b.eq(0);
  const auto result = rounded(schema, arguments, kind);
  const c10::DispatchKeySet cpu(c10::DispatchKey::CPU);
  if (!is_whole(type) || !result.has_value() || !by_zero.any().item<bool>()) {
    op.redispatchBoxed(cpu, &stack);
    return;
  }
  const auto instead = divided_by_zero(a, type, *result);
  arguments[1] = b.to(type).masked_fill(by_zero, 1);
  op.redispatchBoxed(cpu, &stack);
  const auto found = stack.back().toTensor();
  found.copy_(at::where(by_zero, instead, found));
}

} // namespace

Computation division_of(const c10::FunctionSchema& schema, const std::string& name) {
  static const std::unordered_map<std::string, Computation> known = {
      {"div", &divide<Result::Quotient>},
      {"floor_divide", &divide<Result::Floor>},
      {"fmod", &divide<Result::Remainder>},
      {"remainder", &divide<Result::Remainder>}};
  const auto found = known.find(name);
  const bool is_true_division = name == "div" && !schema.argumentIndexWithName("rounding_mode").has_value();
  return found == known.end() || is_true_division ? nullptr : found->second;
}

} // namespace musasim
