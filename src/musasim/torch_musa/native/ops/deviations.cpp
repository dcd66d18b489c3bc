// What kernels of torch_musa 2.7.1 compute otherwise than CUDA's, by its sources (csrc/aten/ops). What depends on muDNN is not here.
#include "fallback.h"

#include "../runtime/device.h"
#include "../runtime/release.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace musasim {
namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

IValue* arguments_of(const c10::OperatorHandle& op, Stack* stack) {
  return stack->data() + (stack->size() - op.schema().arguments().size());
}

// UpSampleNdBwdOut asks muDNN for the gradient of "nearest" in every mode.
Tensor nearest_backward(const IValue& grad_output, const IValue& output_size, const IValue& input_size) {
  const auto dimensions = std::to_string(output_size.toDimVector().size());
  const auto name = "aten::upsample_nearest" + dimensions + "d_backward";
  const auto kernel = c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), "");
  Stack stack = {grad_output, output_size, input_size};
  stack.resize(kernel.schema().arguments().size()); // no scales
  run_on_cpu(kernel, &stack);
  return stack[0].toTensor();
}

void interpolation_backward(const c10::OperatorHandle& op, Stack* stack) {
  const auto* arguments = arguments_of(op, stack);
  const auto found = nearest_backward(arguments[0], arguments[1], arguments[2]);
  const auto last = stack->back();
  torch::jit::drop(*stack, op.schema().arguments().size());
  stack->emplace_back(last.isTensor() ? last.toTensor().copy_(found) : found);
}

// Kernels of the device for what torch composes, so that autograd does not see what it is composed of (SpectralOps.cpp).
void transform(const c10::OperatorHandle& op, Stack* stack) {
  run_on_cpu(op, stack);
}

void refuse_out(const c10::OperatorHandle& /*op*/, Stack* /*stack*/) {
  TORCH_CHECK(false, "MUSA does not support writing complex tensors (out) for this operation.")
}

// Matmul.cpp reads the memory of operands whose conjugation is only noted. 2.11.0's looks at it in vdot, and in bmm of matrices that
// are contiguous or transposed.
IValue without_conjugation(const IValue& operand) {
  const auto& tensor = operand.toTensor();
  if (C10_LIKELY(!tensor.is_conj())) {
    return operand;
  }
  const auto is_plain = [&] { return tensor.is_contiguous() || tensor.transpose(1, 2).is_contiguous(); };
  const bool is_seen = since(Release::v2_11_0) && (tensor.dim() == 1 || (tensor.dim() == 3 && is_plain()));
  return is_seen ? operand : IValue(tensor.conj());
}

// BlasGEMM, for double precision and complex numbers, tells BLAS the stride between rows alone, unless the whole is transposed.
IValue with_unit_stride(const IValue& operand) {
  const auto& tensor = operand.toTensor();
  const auto type = tensor.scalar_type();
  const bool by_blas = tensor.dim() == 2 && (type == at::kDouble || c10::isComplexType(type));
  if (C10_LIKELY(!by_blas) || tensor.size(1) < 2 || tensor.stride(1) == 1 ||
      (tensor.stride(0) == 1 && tensor.stride(1) == tensor.size(0))) {
    return operand;
  }
  const auto leading = tensor.stride(0);
  TORCH_CHECK(
      tensor.size(0) < 2 || leading >= tensor.size(1),
      "muBLAS takes no matrix with rows of ",
      tensor.size(1),
      " elements and a leading dimension of ",
      leading);
  return tensor.as_strided(tensor.sizes(), {std::max<int64_t>(leading, 1), 1});
}

void product(const c10::OperatorHandle& op, Stack* stack) {
  auto* arguments = arguments_of(op, stack);
  for (size_t i = 0; i < 2; ++i) {
    arguments[i] = with_unit_stride(without_conjugation(arguments[i]));
  }
  run_on_cpu(op, stack);
}

// Activation.cpp: the scale reaches negative values only, and the scale of the input nothing. So selu and celu are wrong.
void elu(const c10::OperatorHandle& op, Stack* stack) {
  auto* arguments = arguments_of(op, stack);
  arguments[1] = arguments[1].toScalar().toDouble() * arguments[2].toScalar().toDouble();
  arguments[2] = arguments[3] = 1.0;
  run_on_cpu(op, stack);
}

bool are_integers(const Tensor& a, const Tensor& b) {
  return at::isIntegralType(a.scalar_type(), false) && at::isIntegralType(b.scalar_type(), false);
}

// Binary.cpp computes powers of integers in single precision, and into a tensor of its own.
Tensor power_of_integers(const Tensor& base, const Tensor& exponent) {
  return at::pow(base.to(at::kFloat), exponent.to(at::kFloat)).to(at::result_type(base, exponent));
}

void power(const c10::OperatorHandle& op, Stack* stack) {
  const auto* arguments = arguments_of(op, stack);
  const auto base = arguments[0].toTensor(), exponent = arguments[1].toTensor();
  if (!are_integers(base, exponent)) {
    run_on_cpu(op, stack);
    return;
  }
  const auto& schema = op.schema();
  const bool writes = schema.arguments().back().is_out() || schema.arguments()[0].alias_info() != nullptr;
  const auto written = schema.arguments().back().is_out() ? stack->back() : IValue(base);
  torch::jit::drop(*stack, schema.arguments().size());
  stack->emplace_back(writes ? written : IValue(power_of_integers(base, exponent)));
}

// BinaryNew.cpp divides doubles on the CPU, and forgets how to round.
void rounded_division(const c10::OperatorHandle& op, Stack* stack) {
  const auto* arguments = arguments_of(op, stack);
  const auto a = arguments[0].toTensor(), b = arguments[1].toTensor();
  const auto& schema = op.schema();
  const bool rounds = schema.arguments().size() < 3 || schema.arguments()[2].name() != "rounding_mode" ||
      !arguments[2].isNone();
  if (!rounds || at::result_type(a, b) != at::kDouble) {
    run_on_cpu(op, stack);
    return;
  }
  const auto quotient = at::true_divide(a, b);
  const bool in_place = schema.arguments()[0].alias_info() != nullptr;
  const auto written = schema.arguments().back().is_out() ? stack->back().toTensor() : a;
  torch::jit::drop(*stack, schema.arguments().size());
  if (in_place || schema.arguments().back().is_out()) {
    stack->emplace_back(written.copy_(quotient));
  } else {
    stack->emplace_back(quotient);
  }
}

// Multinomial.cpp draws one number from the default generator, after the given one has been moved from, until 2.11.0.
void multinomial(const c10::OperatorHandle& op, Stack* stack) {
  auto* arguments = arguments_of(op, stack);
  if (!since(Release::v2_11_0) && arguments[1].toInt() == 1 && !arguments[2].toBool()) {
    arguments[3] = IValue();
  }
  run_on_cpu(op, stack);
}

// LayerNorm.cpp and BatchNorm.cpp keep statistics of halves in single precision from 2.9.1 on; the CPU's kernels keep them in halves.
bool keeps_single(const Tensor& input) {
  return since(Release::v2_9_1) && at::isReducedFloatingType(input.scalar_type());
}

bool is_half(const IValue& value) {
  return value.isTensor() && value.toTensor().defined() && at::isReducedFloatingType(value.toTensor().scalar_type());
}

// Computes the call with tensors in single precision for those in halves.
void run_widened(const c10::OperatorHandle& op, Stack* stack) {
  auto* arguments = arguments_of(op, stack);
  std::vector<std::pair<Tensor, Tensor>> running;
  for (size_t i = 0; i < op.schema().arguments().size(); ++i) {
    if (is_half(arguments[i])) {
      const auto given = arguments[i].toTensor(), wide = given.to(at::kFloat);
      arguments[i] = wide;
      if (op.schema().arguments()[i].name().rfind("running_", 0) == 0) {
        running.emplace_back(given, wide);
      }
    }
  }
  run_on_cpu(op, stack);
  for (const auto& [given, wide] : running) {
    given.copy_(wide);
  }
}

void narrow(IValue& result, at::ScalarType type) {
  if (result.isTensor() && result.toTensor().defined()) {
    result = result.toTensor().to(type);
  }
}

// BatchNorm.cpp asks for one type of weight, bias and running statistics from 2.9.1 on; the input may have another.
void check_types_of_batch_norm(const c10::OperatorHandle& op, const IValue* arguments) {
  if (!since(Release::v2_9_1) || op.schema().name().find("batch_norm") == std::string::npos) {
    return;
  }
  std::optional<at::ScalarType> common;
  for (const auto* name : {"weight", "bias", "running_mean", "running_var"}) {
    const auto place = op.schema().argumentIndexWithName(name);
    if (!place.has_value() || !arguments[*place].isTensor() || !arguments[*place].toTensor().defined()) {
      continue;
    }
    const auto type = arguments[*place].toTensor().scalar_type();
    TORCH_CHECK(common.value_or(type) == type, "Except same dtypes for BatchNorm");
    common = type;
  }
}

void normalization(const c10::OperatorHandle& op, Stack* stack) {
  const auto input = arguments_of(op, stack)[0].toTensor();
  check_types_of_batch_norm(op, arguments_of(op, stack));
  if (!keeps_single(input)) {
    run_on_cpu(op, stack);
    return;
  }
  run_widened(op, stack);
  narrow(stack->at(stack->size() - op.schema().returns().size()), input.scalar_type());
}

void gradient_of_normalization(const c10::OperatorHandle& op, Stack* stack) {
  const auto* arguments = arguments_of(op, stack);
  const auto input = arguments[1].toTensor();
  if (!keeps_single(input)) {
    run_on_cpu(op, stack);
    return;
  }
  const auto weight = arguments[*op.schema().argumentIndexWithName("weight")];
  const auto of_weight = weight.isTensor() && weight.toTensor().defined() ? weight.toTensor().scalar_type() : at::kFloat;
  run_widened(op, stack);
  for (size_t result = 0; result < 3; ++result) {
    narrow(stack->at(stack->size() - 3 + result), result == 0 ? input.scalar_type() : of_weight);
  }
}

// BatchNorm.cpp computes gradients in eval mode from statistics that the forward pass has not written, until 2.9.1.
void gradient_of_batch_norm(const c10::OperatorHandle& op, Stack* stack) {
  const bool is_training = arguments_of(op, stack)[7].toBool();
  gradient_of_normalization(op, stack);
  if (is_training || since(Release::v2_9_1)) {
    return;
  }
  for (size_t result = 0; result < 2; ++result) { // of the input and of the weight; that of the bias needs no statistics
    const auto& gradient = stack->at(stack->size() - 3 + result);
    if (gradient.isTensor() && gradient.toTensor().defined()) {
      gradient.toTensor().fill_(std::numeric_limits<double>::quiet_NaN());
    }
  }
}

using Kernel = void(const c10::OperatorHandle&, Stack*);

// PyTorch warns of what it resizes.
struct Quiet final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

// Binary.cpp, Activation.cpp, Reduce.cpp and Matmul.cpp hand `out` to muDNN as it is. What that makes of another size is not public.
template <Kernel* kernel>
void into_given_size(const c10::OperatorHandle& op, Stack* stack) {
  const auto* arguments = arguments_of(op, stack);
  std::vector<std::pair<Tensor, std::vector<int64_t>>> given;
  for (size_t i = 0; i < op.schema().arguments().size(); ++i) {
    if (op.schema().arguments()[i].is_out()) {
      given.emplace_back(arguments[i].toTensor(), arguments[i].toTensor().sizes().vec());
    }
  }
  {
    Quiet quiet;
    const c10::WarningUtils::WarningHandlerGuard guard(&quiet);
    kernel(op, stack);
  }
  for (const auto& [out, size] : given) {
    const auto wanted = out.sizes().vec();
    if (C10_UNLIKELY(wanted != size)) {
      out.resize_(size);
      TORCH_CHECK(
          false,
          op.operator_name(),
          " MUDNN failed in: Run, into a tensor of ",
          at::IntArrayRef(size),
          " in place of ",
          at::IntArrayRef(wanted));
    }
  }
}

template <Kernel* kernel>
void implement(torch::Library& library, std::initializer_list<const char*> names) {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const std::string name : names) {
    const auto dot = name.find('.');
    const auto overload = dot == std::string::npos ? "" : name.substr(dot + 1);
    if (dispatcher.findOp({"aten::" + name.substr(0, dot), overload}).has_value()) { // versions of torch have others
      library.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<kernel>());
    }
  }
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  for (const std::string name :
       {"upsample_linear1d_backward",
        "upsample_bilinear2d_backward",
        "upsample_trilinear3d_backward",
        "upsample_bicubic2d_backward",
        "_upsample_bilinear2d_aa_backward",
        "_upsample_bicubic2d_aa_backward",
        "_upsample_nearest_exact1d_backward",
        "_upsample_nearest_exact2d_backward",
        "_upsample_nearest_exact3d_backward"}) {
    for (const auto* overload : {"", ".grad_input"}) {
      library.impl((name + overload).c_str(), torch::CppFunction::makeFromBoxedFunction<&interpolation_backward>());
    }
  }
  implement<&transform>(library, {"fft_fft", "fft_ifft", "fft_rfft", "fft_irfft", "stft", "stft.center"});
  implement<&refuse_out>(library, {"fft_fft.out", "fft_ifft.out", "fft_rfft.out", "fft_irfft.out"});
  implement<&product>(library, {"mm", "bmm", "vdot"});
  implement<&into_given_size<&product>>(library, {"mm.out", "bmm.out"});
  implement<&elu>(library, {"elu", "elu_", "elu.out"});
  implement<&power>(library, {"pow.Tensor_Tensor", "pow_.Tensor"});
  implement<&into_given_size<&power>>(library, {"pow.Tensor_Tensor_out"});
  implement<&into_given_size<&run_on_cpu>>(
      library,
      {"eq.Tensor_out",   "eq.Scalar_out",  "ne.Tensor_out",   "ne.Scalar_out",        "lt.Tensor_out", "lt.Scalar_out",
       "le.Tensor_out",   "le.Scalar_out",  "gt.Tensor_out",   "gt.Scalar_out",        "ge.Tensor_out", "ge.Scalar_out",
       "logical_and.out", "logical_or.out", "logical_xor.out", "remainder.Tensor_out", "maximum.out",   "minimum.out",
       "addmm.out",       "addmv.out",      "baddbmm.out",     "mean.out",             "prod.int_out",  "any.out",
       "any.all_out",     "all.out",        "all.all_out",     "min.dim_min"});
  implement<&normalization>(
      library,
      {"native_layer_norm",
       "native_batch_norm",
       "_native_batch_norm_legit",
       "_native_batch_norm_legit.no_stats",
       "_batch_norm_with_update"});
  implement<&gradient_of_normalization>(library, {"native_layer_norm_backward"});
  implement<&gradient_of_batch_norm>(library, {"native_batch_norm_backward", "batch_norm_backward"});
  implement<&rounded_division>(
      library,
      {"floor_divide",
       "floor_divide_.Tensor",
       "floor_divide.out",
       "div.Tensor_mode",
       "div_.Tensor_mode",
       "div.out_mode"});
  implement<&multinomial>(library, {"multinomial", "multinomial.out"});
}

} // namespace musasim
