#pragma once

#include "signature.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>
#include <c10/util/Exception.h>

#include <functional>
#include <optional>
#include <vector>

namespace musasim {

// MUSASIM_SEED: operators wait in their streams too (musart/driver/postponed.h). Those that do are known by what they cannot do: look at
// values on the host, make views, or have results whose shape depends on values.

// Whether work that begins now may wait at all. Without a seed this is one comparison.
bool work_may_wait();

// While it lives, this thread does not warn once more of what it has just warned of.
class Repeats final : public c10::WarningHandler {
 public:
  explicit Repeats(std::vector<c10::Warning> said) : said_(std::move(said)), guard_(this) {}
  void process(const c10::Warning& warning) override;

 private:
  c10::WarningHandler* before_ = c10::WarningUtils::get_warning_handler();
  std::vector<c10::Warning> said_;
  c10::WarningUtils::WarningHandlerGuard guard_; // last, because it has to go first
};

// Runs an operator later, on the current stream. False if it has to run now; then nothing has happened, but it may have warned of
// something, of which `repeats` knows.
bool run_later(
    const c10::OperatorHandle& op,
    const Signature& signature,
    c10::Device device,
    torch::jit::Stack& stack,
    std::function<void(torch::jit::Stack*)> run,
    std::optional<Repeats>& repeats);

void copy_later(c10::Device device, std::function<void()> copy);

} // namespace musasim
