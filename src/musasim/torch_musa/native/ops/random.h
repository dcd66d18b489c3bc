#pragma once

#include "../runtime/generator.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>

namespace musasim {

// Draws random numbers as CUDA's kernels do: from Philox4x32-10, whose counter is the generator's offset and the number of the
// thread that computes the element. `stack` ends with the arguments of `op`, on the CPU, and gets its results.
using Draw = void (*)(const c10::OperatorHandle& op, torch::jit::Stack& stack, MusaGenerator& generator);

// Null for operators that draw as the CPU's kernels do; `name` is "normal_" or "random_.from".
Draw draw_of(const std::string& name);

} // namespace musasim
