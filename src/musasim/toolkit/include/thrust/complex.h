#pragma once

#include <complex>

namespace thrust {
using std::abs;
using std::conj;
using std::exp;
using std::log;
using std::polar;
using std::pow;
using std::sqrt;

// A type of its own, because headers have overloads for this one and for std::complex. Arithmetic is std::complex's.
template <class T>
struct complex : std::complex<T> {
  constexpr complex(const T& re = T(), const T& im = T()) : std::complex<T>(re, im) {}
  // A template, so that it takes no part where a type converts to both.
  template <class U>
  constexpr complex(const std::complex<U>& other) : std::complex<T>(T(other.real()), T(other.imag())) {}
};
}  // namespace thrust
