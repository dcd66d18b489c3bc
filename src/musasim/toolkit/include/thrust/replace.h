// Algorithms that put another value in the place of some.
#pragma once

#include "thrust/detail/algorithms.h"

namespace thrust {

template <class Policy, class In, class Stencil, class Out, class Predicate, class T, detail::IfPolicy<Policy> = 0>
Out replace_copy_if(const Policy& policy, In first, In last, Stencil stencil, Out result, Predicate is, const T& value) {
  return transform(policy, first, last, stencil, result, [=](const auto& item, const auto& flag) mutable {
    return is(flag) ? static_cast<detail::value_of<Out>>(value) : static_cast<detail::value_of<Out>>(item);
  });
}
template <class Policy, class In, class Out, class Predicate, class T, detail::IfPolicy<Policy> = 0>
Out replace_copy_if(const Policy& policy, In first, In last, Out result, Predicate is, const T& value) {
  return replace_copy_if(policy, first, last, first, result, is, value);
}
template <class Policy, class In, class Out, class T, detail::IfPolicy<Policy> = 0>
Out replace_copy(const Policy& policy, In first, In last, Out result, const T& old, const T& value) {
  return replace_copy_if(policy, first, last, result, [=](const auto& item) { return item == old; }, value);
}
template <class Policy, class Iterator, class Stencil, class Predicate, class T, detail::IfPolicy<Policy> = 0>
void replace_if(const Policy& policy, Iterator first, Iterator last, Stencil stencil, Predicate is, const T& value) {
  replace_copy_if(policy, first, last, stencil, first, is, value);
}
template <class Policy, class Iterator, class Predicate, class T, detail::IfPolicy<Policy> = 0>
void replace_if(const Policy& policy, Iterator first, Iterator last, Predicate is, const T& value) {
  replace_copy_if(policy, first, last, first, first, is, value);
}
template <class Policy, class Iterator, class T, detail::IfPolicy<Policy> = 0>
void replace(const Policy& policy, Iterator first, Iterator last, const T& old, const T& value) {
  replace_copy(policy, first, last, first, old, value);
}
MUSASIM_WITHOUT_POLICY(replace_copy_if)
MUSASIM_WITHOUT_POLICY(replace_copy)
MUSASIM_WITHOUT_POLICY(replace_if)
MUSASIM_WITHOUT_POLICY(replace)

}  // namespace thrust
