// Function objects. Absent: placeholders.
#pragma once

#include <functional>

#include "musa/functional"

namespace thrust {
template <class T = void>
using plus = std::plus<T>;
template <class T = void>
using minus = std::minus<T>;
template <class T = void>
using multiplies = std::multiplies<T>;
template <class T = void>
using divides = std::divides<T>;
template <class T = void>
using modulus = std::modulus<T>;
template <class T = void>
using negate = std::negate<T>;
template <class T = void>
using less = std::less<T>;
template <class T = void>
using less_equal = std::less_equal<T>;
template <class T = void>
using greater = std::greater<T>;
template <class T = void>
using greater_equal = std::greater_equal<T>;
template <class T = void>
using equal_to = std::equal_to<T>;
template <class T = void>
using not_equal_to = std::not_equal_to<T>;
template <class T = void>
using logical_and = std::logical_and<T>;
template <class T = void>
using logical_or = std::logical_or<T>;
template <class T = void>
using logical_not = std::logical_not<T>;
template <class T = void>
using bit_and = std::bit_and<T>;
template <class T = void>
using bit_or = std::bit_or<T>;
template <class T = void>
using bit_xor = std::bit_xor<T>;
template <class T = void>
using maximum = ::musa::maximum<T>;
template <class T = void>
using minimum = ::musa::minimum<T>;

template <class T = void>
struct identity {
  const T& operator()(const T& value) const { return value; }
};
template <>
struct identity<void> {
  template <class T>
  T operator()(const T& value) const {
    return value;
  }
};
template <class T>
struct square {
  T operator()(const T& value) const { return value * value; }
};
}  // namespace thrust
