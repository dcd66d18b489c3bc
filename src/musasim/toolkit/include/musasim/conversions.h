// A device's conversions to integers: what the integer cannot hold becomes its nearest end, and NaN becomes 0. Direct3D requires this
// of a GPU for 32 bits (ftoi, ftou); no public source says what Moore Threads' GPUs do with 64 bits, which are treated alike here.
// musasim/toolkit/conversions.py puts these into the place of conversions in device code.
#pragma once

#include <limits>
#include <type_traits>

namespace musasim {

// The power of two above every value of the integer, which is exact in each type of float.
template <class Integer, class Real>
constexpr Real above() {
  return static_cast<Real>(std::numeric_limits<Integer>::max() / 2 + 1) * 2;
}

template <class Integer, class Real>
constexpr std::enable_if_t<std::is_floating_point<Real>::value, Integer> converted(Real value) {
  return value != value                                                          ? Integer(0)
         : value >= above<Integer, Real>()                                       ? std::numeric_limits<Integer>::max()
         : value < (std::is_signed<Integer>::value ? -above<Integer, Real>() : 0) ? std::numeric_limits<Integer>::min()
                                                                                 : static_cast<Integer>(value);
}

// Everything else: integers, pointers, classes.
template <class Integer, class Other>
constexpr std::enable_if_t<!std::is_floating_point<Other>::value, Integer> converted(const Other& value) {
  return (Integer)value;
}

}  // namespace musasim
