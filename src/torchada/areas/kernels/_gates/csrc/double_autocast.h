// Autocast leaves double precision as it is on CUDA. torch_musa's PyTorch counts it among the types to convert, so its autocast gets the
// calls without such tensors alone. Others are made without autocast; beside doubles, halves become single precision, as in CUDA's list
// of what is computed in it. Of CUDA's other operators, some take halves beside doubles and compute in double precision, and the rest
// refuse the pair.
//
// `source.py` writes the file that names the operators.
#pragma once

#include "gate.h"

#include <ATen/core/IListRef.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torchada {

constexpr auto kAutocast = c10::DispatchKey::AutocastPrivateUse1;

inline bool is_double(const at::Tensor& tensor) {
  return is_ours(tensor) && tensor.scalar_type() == at::kDouble;
}

template <class T>
bool has_double(const T& /*value*/) {
  return false;
}
inline bool has_double(const at::Tensor& tensor) {
  return is_double(tensor);
}
inline bool has_double(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() && is_double(*tensor);
}
inline bool has_double(const at::TensorList& list) {
  return std::any_of(list.begin(), list.end(), is_double);
}
inline bool has_double(const at::ITensorListRef& list) {
  return std::any_of(list.begin(), list.end(), is_double);
}

template <class T>
const T& widened(const T& value) {
  return value;
}
inline at::Tensor widened(const at::Tensor& tensor) {
  return is_ours(tensor) && at::isReducedFloatingType(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor;
}
inline std::optional<at::Tensor> widened(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? std::optional<at::Tensor>(widened(*tensor)) : std::nullopt;
}
template <class Tensors>
std::vector<at::Tensor> each_widened(const Tensors& list) {
  std::vector<at::Tensor> made;
  for (const at::Tensor& tensor : list) {
    made.push_back(widened(tensor));
  }
  return made;
}
inline std::vector<at::Tensor> widened(const at::TensorList& list) {
  return each_widened(list);
}
inline std::vector<at::Tensor> widened(const at::ITensorListRef& list) {
  return each_widened(list);
}

struct Rule {
  std::optional<c10::OperatorHandle> op;
  c10::KernelFunction own;
  std::optional<c10::RegistrationHandleRAII> registered;
};

template <class Operator, class Function = typename Operator::schema>
struct Autocast;

template <class Operator, class Result, class... Arguments>
struct Autocast<Operator, Result(Arguments...)> {
  static Rule& rule() {
    static auto* const one = new Rule; // as a gate's state, never destroyed
    return *one;
  }

  static Result call(c10::DispatchKeySet keys, Arguments... arguments) {
    if (C10_LIKELY(!(has_double(arguments) || ...))) {
      auto& vendors = rule();
      return vendors.own.template call<Result, Arguments...>(*vendors.op, keys, std::forward<Arguments>(arguments)...);
    }
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(kAutocast);
    return Operator::call(widened(arguments)...);
  }
};

struct NamedRule {
  Rule* rule;
  c10::KernelFunction (*kernel)();
};

inline std::unordered_map<std::string, NamedRule>& rules() {
  static auto* const all = new std::unordered_map<std::string, NamedRule>;
  return *all;
}

template <class Operator>
c10::KernelFunction rule_of() {
  return c10::KernelFunction::makeFromUnboxedRuntimeFunction(&Autocast<Operator>::call);
}

template <class Operator>
bool add_rule(const char* name) {
  rules()[name] = {&Autocast<Operator>::rule(), &rule_of<Operator>};
  return true;
}

// In front of the device's own rule for an operator, where it has one.
inline void leave_doubles(const std::string& name, const NamedRule& named) {
  auto& dispatcher = c10::Dispatcher::singleton();
  const auto op_name = operator_name(name);
  const auto op = dispatcher.findSchema(op_name);
  if (!op.has_value() || !entry_of(*op).hasKernelForDispatchKey(kAutocast)) {
    return;
  }
  named.rule->op = op;
  named.rule->own = entry_of(*op).lookup(c10::DispatchKeySet(kAutocast));
  named.rule->registered =
      dispatcher.registerImpl(op_name, kAutocast, named.kernel(), std::nullopt, nullptr, "torchada's autocast");
}

} // namespace torchada

// Called by library.py.
extern "C" __attribute__((visibility("default"))) void torchada_leave_doubles(int on) {
  torchada::Quiet quiet;
  c10::WarningUtils::WarningHandlerGuard guard(&quiet);
  for (const auto& [name, named] : torchada::rules()) {
    if (on != 0) {
      torchada::leave_doubles(name, named);
    } else {
      named.rule->registered.reset();
    }
  }
}
