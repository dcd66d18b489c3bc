#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace musasim {

// The kernel of every operator that has none of its own: the CPU's, over the same memory.
void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// The same, computed by another operator whose arguments are those of `op`.
void run_on_cpu_as(const c10::OperatorHandle& op, const c10::OperatorHandle& substitute, torch::jit::Stack* stack);

} // namespace musasim
