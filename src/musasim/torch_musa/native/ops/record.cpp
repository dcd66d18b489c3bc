#include "record.h"

#include "../runtime/replay_memory.h"
#include "unowned.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <set>
#include <utility>
#include <vector>

namespace musasim {
namespace {

using c10::IValue;
using torch::jit::Stack;

bool lies_elsewhere(const at::Tensor& recorded, const at::Tensor& fresh) {
  return recorded.defined() && fresh.defined() && recorded.has_storage() && fresh.has_storage() &&
      recorded.storage().data() != fresh.storage().data();
}

} // namespace

std::vector<at::Tensor> tensors_in(const IValue& value) {
  if (value.isTensor()) {
    return {value.toTensor()};
  }
  std::vector<at::Tensor> found;
  if (value.isList()) {
    for (const IValue& element : value.toListRef()) {
      if (element.isTensor()) {
        found.push_back(element.toTensor());
      }
    }
  }
  return found;
}

// Usually a replay has written them where they are read. One that it has written elsewhere may lie at the address of another one.
void copy_results(const Stack& recorded, const Stack& fresh) {
  std::vector<std::pair<at::Tensor, at::Tensor>> moves;
  for (size_t i = 0; i < recorded.size(); ++i) {
    const auto to = tensors_in(recorded[i]);
    const auto from = tensors_in(fresh[i]);
    for (size_t j = 0; j < to.size() && j < from.size(); ++j) {
      if (lies_elsewhere(to[j], from[j])) {
        moves.emplace_back(to[j], from[j]);
      }
    }
  }
  if (moves.size() > 1) {
    for (auto& move : moves) {
      move.second = move.second.clone();
    }
  }
  for (const auto& [to, from] : moves) {
    to.copy_(from);
  }
}

namespace {

void keep_for_restore(Capture& capture, const Signature& signature, const Stack& arguments) {
  for (uint64_t bits = written_by(signature, arguments.data()); bits != 0; bits &= bits - 1) {
    for (const auto& tensor : tensors_in(arguments[static_cast<size_t>(__builtin_ctzll(bits))])) {
      if (tensor.defined() && tensor.has_storage()) {
        capture.save(tensor.storage());
      }
    }
  }
}

std::set<const void*> addresses_of(const Stack& values) {
  std::set<const void*> found;
  for (const auto& value : values) {
    for (const auto& tensor : tensors_in(value)) {
      if (tensor.defined() && tensor.has_storage()) {
        found.insert(tensor.storage().data());
      }
    }
  }
  return found;
}

// A recorded allocation at the address of a result became that result; if memory was used twice, the last one did.
// An argument that was resized is not such a result, because it already has its size when the operation is replayed.
AllocationPlan plan_for(AllocationPlan noted, const Stack& arguments, const Stack& results) {
  auto wanted = addresses_of(results);
  for (const void* address : addresses_of(arguments)) {
    wanted.erase(address);
  }
  for (auto it = noted.rbegin(); it != noted.rend(); ++it) {
    if (wanted.erase(it->address) == 0) {
      it->address = nullptr;
    }
  }
  return noted;
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
  AllocationPlan noted;
  {
    const NoteAllocations note(noted);
    run(&stack);
  }
  Stack results(stack.end() - static_cast<std::ptrdiff_t>(op.schema().returns().size()), stack.end());
  auto plan = plan_for(std::move(noted), arguments, results);
  Unowned unowned(&capture); // after the run, which may have resized an argument
  auto again =
      [run = std::move(run), plan = std::move(plan), inputs = unowned.of(arguments), outputs = unowned.of(results)] {
        at::AutoDispatchBelowADInplaceOrView below_autograd;
        const FollowAllocations follow(plan);
        Stack again = inputs;
        run(&again);
        const FollowAllocations from_the_host(kNothingPlanned);
        copy_results(outputs, again);
      };
  const bool draws = signature.seeded || signature.generators != 0;
  draws ? capture.add_at_once(op.schema().name(), std::move(again)) : capture.add(op.schema().name(), std::move(again));
}

} // namespace musasim
