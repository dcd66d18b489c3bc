// The mathematical functions of device code that the C library lacks: rsqrt, sincospi, erfinv, normcdf, norm3d, __expf ... They are as
// exact on the simulated device as the processor's own; the fast ones (__sinf) too.
#pragma once

#include <math.h>

#include <cmath>

#include "musasim/minmax.h"

// glibc 2.41 and 2.42 have added some of these names, with the same meaning.
#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 41)
#define MUSASIM_LIBC_HAS_SINPI
#endif
#if __GLIBC_PREREQ(2, 42)
#define MUSASIM_LIBC_HAS_RSQRT
#endif
#endif

namespace musasim {

constexpr double pi = 3.14159265358979323846;
constexpr double square_root_of_pi = 1.77245385090551602730;

// sin(pi x) and cos(pi x), whose argument is reduced before the multiplication by pi.
inline double sine_of_turns(double x) {
  const double rest = std::remainder(x, 2.0);
  if (rest == std::trunc(rest)) return std::copysign(0.0, x) * (x - x == 0 ? 1 : NAN);
  const double folded = std::fabs(rest) > 0.5 ? std::copysign(1.0, rest) - rest : rest;
  return std::sin(pi * folded);
}
inline double cosine_of_turns(double x) {
  const double rest = std::fabs(std::remainder(x, 2.0));
  if (rest < 0.25) return std::cos(pi * rest);
  return std::sin(pi * (0.5 - rest));
}

// The inverses by Newton's method: of erf where it is steep, and of log erfc, which is smooth where erfc itself vanishes.
inline double inverse_of_steep_erf(double y) {
  double x = y * square_root_of_pi / 2;
  for (int i = 0; i < 6; ++i) x -= (std::erf(x) - y) * square_root_of_pi / 2 * std::exp(x * x);
  return x;
}
inline double inverse_of_erfc(double p) {
  if (!(p >= 0 && p <= 2)) return NAN;
  if (p == 0 || p == 2) return p == 0 ? INFINITY : -INFINITY;
  if (p > 1) return -inverse_of_erfc(2 - p);
  if (p >= 0.5) return inverse_of_steep_erf(1 - p);
  const double depth = -std::log(p * (2 - p)), half = 4.33 - depth / 2;  // Winitzki's approximation, to begin with
  double x = std::sqrt(std::sqrt(half * half + depth / 0.147) - half);
  for (int i = 0; i < 6; ++i) {
    const double tail = std::erfc(x);
    if (tail == 0) break;
    x += std::log(tail / p) * tail * square_root_of_pi / 2 * std::exp(x * x);
  }
  return x;
}
inline double inverse_of_erf(double y) {
  return std::fabs(y) > 0.5 ? std::copysign(inverse_of_erfc(1 - std::fabs(y)), y) : inverse_of_steep_erf(y);
}

// exp(x*x) erfc(x), for large x by its asymptotic series.
inline double scaled_erfc(double x) {
  if (x < -27) return INFINITY;
  if (x < 26) {
    const double square = x * x, lost = std::fma(x, x, -square);
    return std::exp(square) * std::erfc(x) * (1 + lost);
  }
  const double inverse = 1 / (2 * x * x);
  double sum = 1;
  for (int n = 15; n > 0; n -= 2) sum = 1 - n * inverse * sum;
  return sum / (x * square_root_of_pi);
}

// The modified Bessel function of the first kind and of integer order, by its series, and for large x by its asymptotic one.
inline double bessel_i(int order, double given) {
  const double x = std::fabs(given);
  double term = order == 0 ? 1 : x / 2, sum = term;
  if (x < 40) {
    for (int k = 1; term > sum * 1e-17; ++k) sum += term *= x / 2 * (x / 2) / (k * (k + order));
  } else {
    sum = term = 1;
    for (int k = 1; k < 30; ++k) sum += term *= ((2 * k - 1) * (2 * k - 1) - 4.0 * order * order) / (8 * k * x);
    sum *= std::exp(x / 2) / std::sqrt(2 * pi * x) * std::exp(x / 2);
    if (x - x != 0) sum = x;
  }
  return order == 0 ? sum : std::copysign(sum, given);
}

template <class Real>
inline Real euclidean_norm(int dimensions, const Real* vector) {
  double largest = 0, sum = 0;
  for (int i = 0; i < dimensions; ++i) largest = std::fmax(largest, std::fabs(static_cast<double>(vector[i])));
  for (int i = 0; i < dimensions; ++i) {
    if (std::isinf(vector[i])) return INFINITY;
  }
  if (largest == 0) {
    for (int i = 0; i < dimensions; ++i) sum += static_cast<double>(vector[i]);  // so that NaN propagates
    return static_cast<Real>(std::fabs(sum));
  }
  for (int i = 0; i < dimensions; ++i) {
    const double part = static_cast<double>(vector[i]) / largest;
    sum += part * part;
  }
  return static_cast<Real>(largest * std::sqrt(sum));
}

}  // namespace musasim

// Defines each function for double, for float by its name, and for float by overload: f(double), ff(float), f(float).
#define MUSASIM_UNARY(name, of_x)                                                                    \
  static inline double name(double x) { return of_x; }                                               \
  MUSASIM_UNARY_FLOAT(name, of_x)
#define MUSASIM_UNARY_FLOAT(name, of_x)                                                              \
  static inline float name##f(float given) {                                                         \
    const double x = given;                                                                          \
    return static_cast<float>(of_x);                                                                 \
  }                                                                                                  \
  static inline float name(float x) { return name##f(x); }

#ifdef MUSASIM_LIBC_HAS_RSQRT
static inline float rsqrt(float x) { return rsqrtf(x); }
#else
MUSASIM_UNARY(rsqrt, 1 / std::sqrt(x))
#endif
#ifdef MUSASIM_LIBC_HAS_SINPI
static inline float sinpi(float x) { return sinpif(x); }
static inline float cospi(float x) { return cospif(x); }
#else
MUSASIM_UNARY(sinpi, musasim::sine_of_turns(x))
MUSASIM_UNARY(cospi, musasim::cosine_of_turns(x))
#endif
MUSASIM_UNARY(rcbrt, 1 / std::cbrt(x))
MUSASIM_UNARY(erfinv, musasim::inverse_of_erf(x))
MUSASIM_UNARY(erfcinv, musasim::inverse_of_erfc(x))
MUSASIM_UNARY(erfcx, musasim::scaled_erfc(x))
MUSASIM_UNARY(normcdf, 0.5 * std::erfc(-x * M_SQRT1_2))
MUSASIM_UNARY(normcdfinv, -M_SQRT2 * musasim::inverse_of_erfc(2 * x))
MUSASIM_UNARY(cyl_bessel_i0, musasim::bessel_i(0, x))
MUSASIM_UNARY(cyl_bessel_i1, musasim::bessel_i(1, x))
static inline float exp10(float x) { return exp10f(x); }
#undef MUSASIM_UNARY
#undef MUSASIM_UNARY_FLOAT

static inline void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
static inline void sincospi(double x, double* sine, double* cosine) { *sine = sinpi(x), *cosine = cospi(x); }
static inline void sincospif(float x, float* sine, float* cosine) { *sine = sinpif(x), *cosine = cospif(x); }
static inline void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }

static inline double norm(int dimensions, const double* vector) { return musasim::euclidean_norm(dimensions, vector); }
static inline float normf(int dimensions, const float* vector) { return musasim::euclidean_norm(dimensions, vector); }
static inline double rnorm(int dimensions, const double* vector) { return 1 / norm(dimensions, vector); }
static inline float rnormf(int dimensions, const float* vector) { return 1 / normf(dimensions, vector); }

#define MUSASIM_NORMS(real, suffix)                                                                        \
  static inline real norm3d##suffix(real x, real y, real z) {                                              \
    const real vector[] = {x, y, z};                                                                       \
    return musasim::euclidean_norm(3, vector);                                                             \
  }                                                                                                        \
  static inline real norm4d##suffix(real x, real y, real z, real w) {                                      \
    const real vector[] = {x, y, z, w};                                                                    \
    return musasim::euclidean_norm(4, vector);                                                             \
  }                                                                                                        \
  static inline real rhypot##suffix(real x, real y) { return 1 / std::hypot(x, y); }                       \
  static inline real rnorm3d##suffix(real x, real y, real z) { return 1 / norm3d##suffix(x, y, z); }       \
  static inline real rnorm4d##suffix(real x, real y, real z, real w) { return 1 / norm4d##suffix(x, y, z, w); }
MUSASIM_NORMS(double, )
MUSASIM_NORMS(float, f)
#undef MUSASIM_NORMS

// The fast functions. glibc declares these names itself but does not define them, hence the linkage.
extern "C" {
#define MUSASIM_FAST(name, parameters, result) \
  __attribute__((visibility("hidden"))) inline float name parameters noexcept { return result; }
MUSASIM_FAST(__sinf, (float x), sinf(x))
MUSASIM_FAST(__cosf, (float x), cosf(x))
MUSASIM_FAST(__tanf, (float x), tanf(x))
MUSASIM_FAST(__tanhf, (float x), tanhf(x))
MUSASIM_FAST(__expf, (float x), expf(x))
MUSASIM_FAST(__exp10f, (float x), exp10f(x))
MUSASIM_FAST(__logf, (float x), logf(x))
MUSASIM_FAST(__log2f, (float x), log2f(x))
MUSASIM_FAST(__log10f, (float x), log10f(x))
MUSASIM_FAST(__powf, (float x, float y), powf(x, y))
#undef MUSASIM_FAST
__attribute__((visibility("hidden"))) inline void __sincosf(float x, float* sine, float* cosine) noexcept {
  sincosf(x, sine, cosine);
}
}
static inline float __fdividef(float x, float y) { return x / y; }
static inline float fdividef(float x, float y) { return x / y; }
static inline double fdivide(double x, double y) { return x / y; }
static inline float fdivide(float x, float y) { return x / y; }
static inline float __saturatef(float x) { return x > 1 ? 1.0f : x > 0 ? x : 0.0f; }
static inline float saturate(float x) { return __saturatef(x); }
