// The data types that kernels of torch_musa 2.7.1 refuse, in their own words (csrc/aten/ops), and complex numbers as the simulated
// release. What muDNN refuses is not public.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <vector>

namespace musasim {

// What one argument of an operator may be.
struct DtypeRule {
  size_t argument;
  uint64_t allowed;    // by at::ScalarType
  const char* message; // the type follows where it ends with a space or a quote
};

// `op` is an operator's name without its namespace, overload and trailing underscore.
std::vector<DtypeRule> dtype_rules(const c10::FunctionSchema& schema, const std::string& op);

void check_dtypes(const std::vector<DtypeRule>& rules, const c10::IValue* arguments);

// While one lives, operators take any type: for kernels that are made of others here.
struct AnyType {
  AnyType();
  ~AnyType();
  AnyType(const AnyType&) = delete;
  AnyType& operator=(const AnyType&) = delete;
};

} // namespace musasim
