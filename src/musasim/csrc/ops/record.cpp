#include "record.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

namespace musasim {
namespace {

using c10::IValue;
using torch::jit::Stack;

std::vector<at::Tensor> tensors_in(const IValue& value) {
  if (value.isTensor()) {
    return {value.toTensor()};
  }
  std::vector<at::Tensor> found;
  if (value.isTensorList() || value.isOptionalTensorList()) {
    for (const IValue& element : value.toListRef()) {
      if (element.isTensor()) {
        found.push_back(element.toTensor());
      }
    }
  }
  return found;
}

void keep_for_restore(const Capture& capture, const Signature& signature, const Stack& arguments) {
  for (uint64_t bits = signature.written; bits != 0; bits &= bits - 1) {
    for (const auto& tensor : tensors_in(arguments[static_cast<size_t>(__builtin_ctzll(bits))])) {
      if (tensor.defined() && tensor.has_storage()) {
        capture.before_write(tensor.storage());
      }
    }
  }
}

// A replay computes into fresh memory; whoever holds the results of the capture looks at theirs.
void copy_results(const Stack& recorded, const Stack& fresh) {
  for (size_t i = 0; i < recorded.size(); ++i) {
    const auto to = tensors_in(recorded[i]);
    const auto from = tensors_in(fresh[i]);
    for (size_t j = 0; j < to.size() && j < from.size(); ++j) {
      if (to[j].defined() && from[j].defined() && !to[j].storage().is_alias_of(from[j].storage())) {
        to[j].copy_(from[j]);
      }
    }
  }
}

} // namespace

void record_and_run(
    Capture& capture,
    const c10::OperatorHandle& op,
    const Signature& signature,
    Stack& stack,
    std::function<void(Stack*)> run) {
  const auto first = stack.end() - static_cast<std::ptrdiff_t>(signature.arguments);
  Stack arguments(first, stack.end());
  keep_for_restore(capture, signature, arguments);
  run(&stack);
  Stack results(stack.end() - static_cast<std::ptrdiff_t>(op.schema().returns().size()), stack.end());
  capture.nodes.push_back({op.schema().name(), [=, run = std::move(run)] {
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    Stack again = arguments;
    run(&again);
    copy_results(results, again);
  }});
}

} // namespace musasim
