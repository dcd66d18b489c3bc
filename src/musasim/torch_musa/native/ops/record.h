#pragma once

#include "../runtime/capture.h"
#include "signature.h"

#include <ATen/core/stack.h>

#include <functional>
#include <vector>

namespace musasim {

std::vector<at::Tensor> tensors_in(const c10::IValue& value);

// The program reads results at the addresses that are recorded. Those that were computed elsewhere are copied.
void copy_results(const torch::jit::Stack& recorded, const torch::jit::Stack& fresh);

// Runs one operation of a capture and records how to run it again, on the same inputs and into the same results.
void record_and_run(
    Capture& capture,
    const c10::OperatorHandle& op,
    const Signature& signature,
    torch::jit::Stack& stack,
    std::function<void(torch::jit::Stack*)> run);

} // namespace musasim
