// Kernels of torch_musa that are ported from CUDA's, and take data types that the CPU's do not, or that those add up in halves: they are
// computed in another type, and converted back.
#include "dtypes.h"
#include "fallback.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace musasim {
namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

// The type to compute in, which is the given one where the CPU's kernel takes that.
using Wide = at::ScalarType(at::ScalarType);

at::ScalarType single(at::ScalarType type) {
  return at::isReducedFloatingType(type) ? at::kFloat : type;
}

at::ScalarType single_or_byte(at::ScalarType type) {
  return type == at::kBool ? at::kByte : single(type);
}

bool is_tensor(const IValue& value) {
  return value.isTensor() && value.toTensor().defined();
}

bool is_written(const c10::Argument& argument) {
  // Older versions of PyTorch do not say that rrelu_with_noise writes its noise.
  return (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) || argument.name() == "noise";
}

bool is_same_place(const c10::Argument& argument, const c10::Argument& result) {
  return argument.alias_info() != nullptr && result.alias_info() != nullptr && *argument.alias_info() == *result.alias_info();
}

// The arguments of one call, as they were given.
class Given {
 public:
  Given(const c10::FunctionSchema& schema, const Stack& stack)
      : schema_(schema), arguments_(stack.end() - static_cast<int64_t>(schema.arguments().size()), stack.end()) {}

  // The type of the tensors that were converted, if any were.
  template <Wide* wide>
  std::optional<at::ScalarType> convert(Stack& stack) {
    std::optional<at::ScalarType> narrow;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const auto& value = arguments_[i];
      if (is_tensor(value) && wide(value.toTensor().scalar_type()) != value.toTensor().scalar_type()) {
        narrow = value.toTensor().scalar_type();
        stack[stack.size() - arguments_.size() + i] = value.toTensor().to(wide(*narrow));
      }
    }
    converted_.assign(stack.end() - static_cast<int64_t>(arguments_.size()), stack.end());
    return narrow;
  }

  void write() const {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (is_written(schema_.arguments()[i]) && is_tensor(arguments_[i]) && !arguments_[i].is(converted_[i])) {
        const auto wide = converted_[i].toTensor();
        arguments_[i].toTensor().resize_(wide.sizes()).copy_(wide);
      }
    }
  }

  // The argument that a result is, if it is one.
  std::optional<IValue> place_of(const c10::Argument& result) const {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (is_same_place(schema_.arguments()[i], result)) {
        return arguments_[i];
      }
    }
    return std::nullopt;
  }

 private:
  const c10::FunctionSchema& schema_;
  std::vector<IValue> arguments_, converted_;
};

template <Wide* wide>
void compute_in(const c10::OperatorHandle& op, Stack* stack) {
  const auto& returns = op.schema().returns();
  Given given(op.schema(), *stack);
  const auto narrow = given.convert<wide>(*stack);
  run_on_cpu(op, stack);
  if (!narrow.has_value()) {
    return;
  }
  given.write();
  for (size_t i = 0; i < returns.size(); ++i) {
    auto& result = (*stack)[stack->size() - returns.size() + i];
    if (const auto place = given.place_of(returns[i])) {
      result = *place;
    } else if (is_tensor(result) && result.toTensor().scalar_type() == wide(*narrow)) {
      result = result.toTensor().to(*narrow);
    }
  }
}

// CUDA's kernel takes complex numbers: one with a part that is nan counts nothing.
void nansum(const c10::OperatorHandle& op, Stack* stack) {
  auto& operand = (*stack)[stack->size() - op.schema().arguments().size()];
  const auto values = operand.toTensor();
  if (!values.is_complex()) {
    run_on_cpu(op, stack);
    return;
  }
  const AnyType any_type;
  operand = at::where(at::isnan(values), at::zeros({}, values.options()), values);
  const auto* overload = op.schema().is_mutable() ? "IntList_out" : "dim_IntList";
  c10::Dispatcher::singleton().findSchemaOrThrow("aten::sum", overload).callBoxed(stack);
}

// tril_indices and triu_indices: no type is refused where there is nothing to write (musa/TensorFactories.mu, as CUDA's).
void indices_of_triangle(const c10::OperatorHandle& op, Stack* stack) {
  constexpr size_t dtype = 3;
  auto& wanted = (*stack)[stack->size() - op.schema().arguments().size() + dtype];
  const auto type = wanted.isNone() ? at::kLong : wanted.toScalarType();
  if (type != at::kLong && type != at::kInt) {
    wanted = at::kLong;
  }
  run_on_cpu(op, stack);
  const auto found = stack->back().toTensor();
  if (found.scalar_type() == type) {
    return;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      found.numel() == 0, '"', op.schema().name().substr(6), "_cuda\" not implemented for '", toString(type), "'");
  stack->back() = found.to(type);
}

// So it is here (musa/AdaptiveAveragePooling3d.mu).
void adaptive_average(const c10::OperatorHandle& op, Stack* stack) {
  const auto count = op.schema().arguments().size();
  auto* arguments = stack->data() + (stack->size() - count);
  const auto image = arguments[0].toTensor();
  const auto out = op.schema().is_mutable() ? stack->back().toTensor() : Tensor();
  if (image.numel() != 0 || image.is_floating_point()) {
    run_on_cpu(op, stack);
    return;
  }
  const auto options = image.options().dtype(at::kFloat);
  arguments[0] = at::empty(image.sizes(), options);
  if (out.defined()) {
    arguments[count - 1] = at::empty(out.sizes(), options);
  }
  run_on_cpu(op, stack);
  const auto shape = stack->back().toTensor().sizes().vec();
  stack->back() = out.defined() ? out.resize_(shape) : at::empty(shape, image.options());
}

using Kernel = void(const c10::OperatorHandle&, Stack*);

template <Kernel* kernel>
void compute(torch::Library& library, std::initializer_list<const char*> names) {
  for (const auto* name : names) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<kernel>());
  }
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  compute<&compute_in<&single>>(
      library,
      {"avg_pool3d",
       "avg_pool3d.out",
       "avg_pool3d_backward",
       "avg_pool3d_backward.grad_input",
       "_embedding_bag_forward_only",
       "_embedding_bag_dense_backward",
       "embedding_dense_backward",
       "grid_sampler_2d",
       "grid_sampler_2d_backward",
       "grid_sampler_3d",
       "grid_sampler_3d_backward",
       "multi_margin_loss",
       "multi_margin_loss.out",
       "multi_margin_loss_backward",
       "multi_margin_loss_backward.grad_input",
       "multilabel_margin_loss_forward",
       "multilabel_margin_loss_forward.output",
       "multilabel_margin_loss_backward",
       "multilabel_margin_loss_backward.grad_input",
       "rrelu_with_noise",
       "rrelu_with_noise_",
       "rrelu_with_noise.out",
       "_standard_gamma",
       "_standard_gamma_grad",
       "_sample_dirichlet",
       "binomial"});
  compute<&compute_in<&single_or_byte>>(
      library, {"trace", "median", "median.dim_values", "nanmedian", "nanmedian.dim_values"});
  compute<&nansum>(library, {"nansum", "nansum.out"});
  compute<&indices_of_triangle>(library, {"tril_indices", "triu_indices"});
  compute<&adaptive_average>(library, {"_adaptive_avg_pool3d", "adaptive_avg_pool3d.out"});
}

} // namespace musasim
