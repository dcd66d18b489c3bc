#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>

namespace musasim {

// Takes the place of the CPU's kernel; `stack` ends with the arguments of `op`, on the CPU, and gets its results.
using Computation = void (*)(const c10::OperatorHandle& op, torch::jit::Stack& stack);

// Divisions of whole numbers by zero, which the CPU refuses, as no kernel of a device can. Null for other
// operators; `name` is "div" for `div_` too.
Computation division_of(const c10::FunctionSchema& schema, const std::string& name);

} // namespace musasim
