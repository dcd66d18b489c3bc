// Autocast as torch_musa's PyTorch has it: its patch of ATen/autocast_mode.h counts double precision among the types to convert, which
// PyTorch's own leaves as it is.
#pragma once

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include <optional>
#include <utility>
#include <vector>

namespace musasim {

constexpr auto kMusa = c10::DeviceType::PrivateUse1;

inline bool is_double(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_privateuseone() && tensor.scalar_type() == at::kDouble;
}

template <class T>
const T& convert_doubles(at::ScalarType /*type*/, const T& value) {
  return value;
}
inline at::Tensor convert_doubles(at::ScalarType type, const at::Tensor& tensor) {
  return is_double(tensor) ? tensor.to(type) : tensor;
}
inline std::optional<at::Tensor> convert_doubles(at::ScalarType type, const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? std::optional<at::Tensor>(convert_doubles(type, *tensor)) : std::nullopt;
}
template <class Tensors>
std::vector<at::Tensor> convert_each(at::ScalarType type, const Tensors& list) {
  std::vector<at::Tensor> made;
  for (const at::Tensor& tensor : list) {
    made.push_back(convert_doubles(type, tensor));
  }
  return made;
}
inline std::vector<at::Tensor> convert_doubles(at::ScalarType type, const at::TensorList& list) {
  return convert_each(type, list);
}
inline std::vector<at::Tensor> convert_doubles(at::ScalarType type, const at::ITensorListRef& list) {
  return convert_each(type, list);
}

template <class... Rest>
bool begins_with_double(const at::Tensor& first, const Rest&...) {
  return is_double(first);
}

using Policy = at::autocast::CastPolicy;

template <Policy policy, class Function, Function* function>
struct Autocast;

template <Policy policy, class Result, class... Arguments, Result (*function)(Arguments...)>
struct Autocast<policy, Result(Arguments...), function> {
  using Stock = typename at::autocast::
      WrapFunction<policy, kMusa, Result(Arguments...), Result(Arguments...), function>::type;

  static Result call(Arguments... arguments) {
    if constexpr (policy == Policy::fp32_set_opt_dtype) {
      if (begins_with_double(arguments...)) {
        const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastPrivateUse1);
        return function(at::autocast::set_opt_dtype(at::kFloat, arguments)...);
      }
      return Stock::call(std::forward<Arguments>(arguments)...);
    } else {
      return Stock::call(convert_doubles(type_for(arguments...), arguments)...);
    }
  }

 private:
  static at::ScalarType type_for(const Arguments&... arguments) {
    if constexpr (policy == Policy::fp32) {
      return at::kFloat;
    }
    const auto lower = at::autocast::get_autocast_dtype(kMusa);
    if constexpr (policy == Policy::promote) {
      return at::autocast::promote_type(lower, kMusa, arguments...); // of the other tensors
    }
    return lower;
  }
};

// Of norms, which are asked for a type by another overload.
template <class Function, class WithType, WithType* function>
struct Norm;

template <class... Arguments, class WithType, WithType* function>
struct Norm<at::Tensor(Arguments...), WithType, function> {
  static at::Tensor call(Arguments... arguments) {
    if (begins_with_double(arguments...)) {
      const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastPrivateUse1);
      return function(arguments..., at::kFloat);
    }
    return at::autocast::WrapFunction<Policy::fp32_append_dtype, kMusa, at::Tensor(Arguments...), WithType, function>::type::
        call(arguments...);
  }
};

} // namespace musasim

#define MUSA_RULE1(OP, POLICY) \
  m.impl("aten::" #OP, &::musasim::Autocast<CastPolicy::POLICY, decltype(ATEN_FN(OP)), &ATEN_FN(OP)>::call);
#define MUSA_RULE2(OP, OVERLOAD, POLICY)                                                                   \
  m.impl(                                                                                                  \
      "aten::" #OP "." #OVERLOAD,                                                                          \
      &::musasim::Autocast<CastPolicy::POLICY, decltype(ATEN_FN2(OP, OVERLOAD)), &ATEN_FN2(OP, OVERLOAD)>:: \
          call);
#define MUSA_RULE_OF(_1, _2, _3, NAME, ...) NAME
// (OP, POLICY) or (OP, OVERLOAD, POLICY)
#define MUSA_RULE(...) MUSA_RULE_OF(__VA_ARGS__, MUSA_RULE2, MUSA_RULE1)(__VA_ARGS__)
#define MUSA_NORM(FUNCTION, NAME, SIGNATURE, WITH_TYPE, POLICY) \
  m.impl("aten::" NAME, &::musasim::Norm<SIGNATURE, WITH_TYPE, &FUNCTION>::call);
