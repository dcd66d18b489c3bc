// Kernels of torch_musa that add halves up in single precision, as CUDA's do from which they are ported. The CPU's add them up in
// halves, or take none.
#include "fallback.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <optional>

namespace musasim {
namespace {

using c10::IValue;
using torch::jit::Stack;

bool is_half(const IValue& value) {
  return value.isTensor() && value.toTensor().defined() && at::isReducedFloatingType(value.toTensor().scalar_type());
}

// `stack` holds the arguments of `op`; the last of them is written to, if anything is.
void add_in_single_precision(const c10::OperatorHandle& op, Stack* stack) {
  const size_t count = op.schema().arguments().size();
  const size_t first = stack->size() - count;
  std::optional<at::ScalarType> half;
  for (size_t i = first; i < stack->size(); ++i) {
    half = is_half((*stack)[i]) ? (*stack)[i].toTensor().scalar_type() : half;
  }
  if (!half.has_value()) {
    run_on_cpu(op, stack);
    return;
  }
  const bool has_out = op.schema().is_mutable();
  const auto out = has_out ? stack->back().toTensor() : at::Tensor();
  for (size_t i = first; i < stack->size(); ++i) {
    auto& value = (*stack)[i];
    value = is_half(value) ? IValue(value.toTensor().to(at::kFloat)) : value;
  }
  run_on_cpu(op, stack);
  if (has_out) {
    const auto found = stack->back().toTensor();
    stack->back() = out.resize_(found.sizes()).copy_(found);
    return;
  }
  for (size_t i = first; i < stack->size(); ++i) {
    auto& value = (*stack)[i];
    const bool is_float = value.isTensor() && value.toTensor().defined() && value.toTensor().scalar_type() == at::kFloat;
    value = is_float ? IValue(value.toTensor().to(*half)) : value;
  }
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  for (const auto* name :
       {"avg_pool3d",
        "avg_pool3d.out",
        "avg_pool3d_backward",
        "avg_pool3d_backward.grad_input",
        "_embedding_bag_forward_only",
        "_embedding_bag_dense_backward",
        "embedding_dense_backward"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&add_in_single_precision>());
  }
}

} // namespace musasim
