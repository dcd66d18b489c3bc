#include "waiting.h"

#include "../runtime/generator.h"
#include "../runtime/stream.h"
#include "../runtime/trace.h"
#include "record.h"
#include "trial.h"
#include "unowned.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

namespace musasim {
namespace {

using c10::IValue;
using torch::jit::Stack;

bool is_of_host(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() != kMusa;
}

// Numbers that a kernel gets by value. Other tensors of the host are read when the operator is launched.
bool has_only_numbers_of_the_host(const Stack& arguments) {
  return std::all_of(arguments.begin(), arguments.end(), [](const IValue& argument) {
    const auto tensors = tensors_in(argument);
    return std::all_of(tensors.begin(), tensors.end(), [&](const at::Tensor& each) {
      return !is_of_host(each) || (each.dim() == 0 && argument.isTensor());
    });
  });
}

// The program may change such a number, or let it go, before it is needed.
IValue own_number(const IValue& value) {
  if (!value.isTensor() || !is_of_host(value.toTensor())) {
    return value;
  }
  const c10::impl::ExcludeDispatchKeyGuard below_python(c10::python_ks);
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const auto number = value.toTensor().clone();
  number.unsafeGetTensorImpl()->set_wrapped_number(value.toTensor().unsafeGetTensorImpl()->is_wrapped_number());
  return number;
}

// Whole numbers may say where an operator reads or writes, which the CPU's kernels do not always check.
bool may_read_places(const c10::OperatorHandle& op, const Stack& arguments) {
  if (op.hasTag(at::Tag::pointwise)) {
    return false;
  }
  return std::any_of(arguments.begin(), arguments.end(), [](const IValue& argument) {
    const auto tensors = tensors_in(argument);
    return std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& each) {
      return each.defined() && c10::isIntegralType(each.scalar_type(), /*includeBool=*/true);
    });
  });
}

bool has_masks(const Stack& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const IValue& argument) {
    const auto tensors = argument.isTensor() ? std::vector<at::Tensor>() : tensors_in(argument);
    return std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& each) {
      return each.defined() && (each.scalar_type() == c10::kBool || each.scalar_type() == c10::kByte);
    });
  });
}

class Unheard final : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

class Heard final : public c10::WarningHandler {
 public:
  std::vector<c10::Warning> warnings;

  void process(const c10::Warning& warning) override {
    warnings.push_back(warning);
  }
};

// Work that waits runs on any thread, in the middle of anything.
void undisturbed(const std::function<void()>& work) {
  const c10::impl::ForceDispatchKeyGuard plain(c10::default_included_set, c10::default_excluded_set);
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  Unheard unheard; // what there is to say was said at the launch
  const c10::WarningUtils::WarningHandlerGuard quiet(&unheard);
  work();
}

// The generator's numbers of an operator that waits: they are taken when it is launched.
class Drawn {
 public:
  Drawn(const Signature& signature, c10::DeviceIndex device, Stack& arguments) {
    if (signature.draw == nullptr && signature.generators == 0) {
      return;
    }
    generator_ = default_generator(device);
    for (uint64_t bits = signature.generators; bits != 0; bits &= bits - 1) {
      auto& argument = arguments[static_cast<size_t>(__builtin_ctzll(bits))];
      if (!argument.isNone()) {
        generator_ = argument.toGenerator();
      }
      argument = IValue();
    }
    lock_ = std::unique_lock<std::mutex>(generator_.mutex());
    numbers_ = generator_.clone();
  }

  void try_out(const std::function<void()>& work) {
    if (!numbers_.defined()) {
      work();
      return;
    }
    const auto tried = numbers_.clone();
    const DrawFrom from(tried);
    work();
    offset_ = at::check_generator<MusaGenerator>(tried)->philox_offset_per_thread();
  }

  // Takes them from the generator; the result is what the operator draws from, if it does.
  at::Generator take() {
    if (numbers_.defined()) {
      generator_.set_offset(offset_);
      lock_.unlock();
    }
    return numbers_;
  }

 private:
  at::Generator generator_, numbers_;
  uint64_t offset_ = 0;
  std::unique_lock<std::mutex> lock_;
};

Stack arguments_of(const Signature& signature, const Stack& stack) {
  return {stack.end() - static_cast<std::ptrdiff_t>(signature.arguments), stack.end()};
}

// Whether the operator can wait. What it warns of is said here once, whether it waits or runs now.
bool try_out(Drawn& drawn, Trial& trial, const std::function<void(Stack*)>& run, std::optional<Repeats>& repeats) {
  Heard heard;
  bool waits = false;
  try {
    const c10::WarningUtils::WarningHandlerGuard hear(&heard);
    drawn.try_out([&] { waits = trial.run(run); });
  } catch (const std::exception&) {
    waits = false; // it is raised again, unless it came from values that are not there yet
  }
  for (const auto& warning : heard.warnings) {
    c10::warn(warning);
  }
  if (!waits && !heard.warnings.empty()) {
    repeats.emplace(std::move(heard.warnings));
  }
  return waits;
}

} // namespace

void Repeats::process(const c10::Warning& warning) {
  const bool is_said =
      std::any_of(said_.begin(), said_.end(), [&](const c10::Warning& each) { return each.msg() == warning.msg(); });
  if (!is_said) {
    before_->process(warning);
  }
}

bool work_may_wait() {
  static const bool wanted = musart::postponed::wanted();
  return C10_UNLIKELY(wanted) && !musart::postponed::runs_here() && !is_tracing() &&
      musart::running_captures.load(std::memory_order_relaxed) == 0;
}

bool run_later(
    const c10::OperatorHandle& op,
    const Signature& signature,
    c10::Device device,
    Stack& stack,
    std::function<void(Stack*)> run,
    std::optional<Repeats>& repeats) {
  auto arguments = arguments_of(signature, stack);
  if (!signature.may_wait || !has_only_numbers_of_the_host(arguments) || (signature.masks_shape_result && has_masks(arguments))) {
    return false;
  }
  auto& stream = stream_state(current_stream(device.index()));
  if (may_read_places(op, arguments)) {
    musart::postponed::finish_before(stream);
  }
  const musart::postponed::Busy busy;
  Drawn drawn(signature, device.index(), arguments);
  Trial trial(signature, arguments, op.schema().returns().size(), device);
  if (!try_out(drawn, trial, run, repeats)) {
    return false;
  }
  const auto numbers = drawn.take();
  auto results = trial.take_results();
  std::transform(arguments.begin(), arguments.end(), arguments.begin(), &own_number);
  Unowned unowned;
  musart::postponed::add(
      stream,
      [run = std::move(run), plan = trial.plan(), inputs = unowned.of(arguments), outputs = unowned.of(results), numbers] {
        undisturbed([&] {
          std::optional<DrawFrom> from;
          if (numbers.defined()) {
            from.emplace(numbers);
          }
          const FollowAllocations follow(plan);
          Stack again = inputs;
          run(&again);
          const FollowAllocations from_the_host(kNothingPlanned);
          copy_results(outputs, again);
        });
      });
  torch::jit::drop(stack, signature.arguments);
  std::move(results.begin(), results.end(), std::back_inserter(stack));
  return true;
}

void copy_later(c10::Device device, std::function<void()> copy) {
  musart::postponed::add(stream_state(current_stream(device.index())), [copy = std::move(copy)] { undisturbed(copy); });
}

} // namespace musasim
