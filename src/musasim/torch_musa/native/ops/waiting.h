#pragma once

#include "signature.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include <functional>

namespace musasim {

// MUSASIM_SEED: operators wait in their streams too (musart/driver/postponed.h). Those that do are known by what they cannot do: look at
// values on the host, make views, or have results whose shape depends on values.

// Whether work that begins now may wait at all. Without a seed this is one comparison.
bool work_may_wait();

// Runs an operator later, on the current stream. False if it has to run now; then nothing has happened.
bool run_later(
    const c10::OperatorHandle& op,
    const Signature& signature,
    c10::Device device,
    torch::jit::Stack& stack,
    std::function<void(torch::jit::Stack*)> run);

void copy_later(c10::Device device, std::function<void()> copy);

} // namespace musasim
