// A device's conversions to integers, as an NVIDIA H100 makes them: what 32 or 64 bits cannot hold becomes their nearest end. Types of
// fewer bits take the low bits of such a number. NaN becomes 0 where a float becomes 32 bits, and the highest bit alone otherwise.
// compiler/conversions.py puts these into the place of conversions in device code.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace musasim {

template <class Type>
using Bare = std::remove_cv_t<std::remove_reference_t<Type>>;

// The power of two above every value of the integer, which is exact in each type of float.
template <class Integer, class Real>
constexpr Real above() {
  return static_cast<Real>(std::numeric_limits<Integer>::max() / 2 + 1) * 2;
}

template <class Integer, class Real>
constexpr Integer of_nan() {
  const bool is_zero = sizeof(Integer) < 4 || (sizeof(Integer) == 4 && sizeof(Real) == 4);
  return is_zero ? Integer(0) : static_cast<Integer>(std::uint64_t{1} << (8 * sizeof(Integer) - 1));
}

template <class Integer, class Real>
constexpr Integer nearest_end(Real value) {
  return value != value                                                          ? of_nan<Integer, Real>()
         : value >= above<Integer, Real>()                                       ? std::numeric_limits<Integer>::max()
         : value < (std::is_signed<Integer>::value ? -above<Integer, Real>() : 0) ? std::numeric_limits<Integer>::min()
                                                                                 : static_cast<Integer>(value);
}

// The integer that a device converts to first.
template <class Integer>
using Register = std::conditional_t<sizeof(Integer) < 4, std::conditional_t<std::is_signed<Integer>::value, int, unsigned>, Integer>;

template <class To, class From>
constexpr bool rounds() {
  return std::is_floating_point<From>::value && std::is_integral<To>::value && !std::is_same<Bare<To>, bool>::value;
}

template <class To, class From>
constexpr std::enable_if_t<rounds<To, From>(), To> converted(From value) {
  return static_cast<To>(nearest_end<Register<Bare<To>>>(value));
}

// Everything else: integers and pointers, which may be bits of a field or an array, and classes.
template <class To, class From>
constexpr std::enable_if_t<!rounds<To, From>() && std::is_scalar<From>::value && !std::is_reference<To>::value, To> converted(From value) {
  return (To)value;
}
template <class To, class From>
constexpr std::enable_if_t<std::is_reference<To>::value || std::is_class<Bare<From>>::value || std::is_union<Bare<From>>::value, To> converted(
    From&& value) {
  return (To)std::forward<From>(value);
}

}  // namespace musasim
