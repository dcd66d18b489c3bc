// Which kernels of torch_musa 2.7.1 say that they are not deterministic: those it ports from CUDA, and three of its own. muDNN's do not.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <string>

namespace musasim {

// The name by which the kernel calls itself, as torch.use_deterministic_algorithms tells it. nullptr if this call gives no alert.
using Alert = const char* (*)(const c10::FunctionSchema& schema, const c10::IValue* arguments);

// nullptr for operators that never give one. `op` is an operator's name without its namespace, overload and trailing underscore.
Alert alert_of(const c10::FunctionSchema& schema, const std::string& op);

} // namespace musasim
