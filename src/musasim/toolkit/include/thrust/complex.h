#pragma once

#include <complex>

namespace thrust {
using std::abs;
using std::acos;
using std::acosh;
using std::arg;
using std::asin;
using std::asinh;
using std::atan;
using std::atanh;
using std::conj;
using std::cos;
using std::cosh;
using std::exp;
using std::log;
using std::log10;
using std::norm;
using std::polar;
using std::pow;
using std::proj;
using std::sin;
using std::sinh;
using std::sqrt;
using std::tan;
using std::tanh;

// A type of its own, because headers have overloads for this one and for std::complex. Arithmetic is std::complex's.
template <class T>
struct complex : std::complex<T> {
  constexpr complex(const T& re = T(), const T& im = T()) : std::complex<T>(re, im) {}
  // A template, so that it takes no part where a type converts to both.
  template <class U>
  constexpr complex(const std::complex<U>& other) : std::complex<T>(T(other.real()), T(other.imag())) {}
};
}  // namespace thrust
