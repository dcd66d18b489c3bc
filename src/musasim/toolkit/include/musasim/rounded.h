// Arithmetic in a stated direction: __fadd_rn, __fmaf_rz, __ddiv_ru ... None of them is ever fused with another operation.
#pragma once

#include "musasim/casts.h"
#include "musasim/math.h"

namespace musasim {

// The error of a rounded quotient or root. Only its sign, and whether it is zero, matter.
inline double error_of_quotient(double a, double b, double quotient) {
  const double rest = std::fma(-quotient, b, a);
  return b < 0 ? -rest : rest;
}
inline double error_of_root(double a, double root) { return std::fma(-root, root, a); }

inline double quotient_to_odd(double a, double b) {
  const double quotient = a / b;
  return quotient - quotient != 0 ? quotient : to_odd(quotient, error_of_quotient(a, b, quotient));
}
inline double root_to_odd(double a) {
  const double root = std::sqrt(a);
  return root - root != 0 ? root : to_odd(root, error_of_root(a, root));
}
// The reciprocal of a root: rounded twice, by less than a unit in the last place of a double.
inline double inverse_root(double a) { return 1 / std::sqrt(a); }

inline double error_of_sum(double a, double b, double sum) {
  if (sum - sum != 0) return 0;
  const double from_b = sum - a;
  return (a - (sum - from_b)) + (b - from_b);
}
inline double error_of_product(double a, double b, double product) {
  return product - product != 0 ? 0 : std::fma(a, b, -product);
}

}  // namespace musasim

// A product of floats is exact in double.
#define MUSASIM_FLOAT_ARITHMETIC(suffix, mode, ...)                                                                           \
  static inline float __fadd_##suffix(float a, float b) { return musasim::to_float(musasim::add_to_odd(a, b), musasim::Rounding::mode); }  \
  static inline float __fsub_##suffix(float a, float b) { return __fadd_##suffix(a, -b); }                                    \
  static inline float __fmul_##suffix(float a, float b) {                                                                     \
    return musasim::to_float(static_cast<double>(a) * static_cast<double>(b), musasim::Rounding::mode);                       \
  }                                                                                                                           \
  static inline float __fmaf_##suffix(float a, float b, float c) {                                                            \
    const double product = static_cast<double>(a) * static_cast<double>(b);                                                   \
    return musasim::to_float(musasim::add_to_odd(product, c), musasim::Rounding::mode);                                       \
  }                                                                                                                           \
  static inline float __fdiv_##suffix(float a, float b) {                                                                     \
    return musasim::to_float(musasim::quotient_to_odd(a, b), musasim::Rounding::mode);                                        \
  }                                                                                                                           \
  static inline float __frcp_##suffix(float a) { return __fdiv_##suffix(1.0f, a); }                                           \
  static inline float __fsqrt_##suffix(float a) { return musasim::to_float(musasim::root_to_odd(a), musasim::Rounding::mode); }

#define MUSASIM_DOUBLE_ARITHMETIC(suffix, mode, ...)                                                                          \
  static inline double __dadd_##suffix(double a, double b) {                                                                  \
    const double sum = a + b;                                                                                                 \
    return musasim::to_double(sum, musasim::error_of_sum(a, b, sum), musasim::Rounding::mode);                                \
  }                                                                                                                           \
  static inline double __dsub_##suffix(double a, double b) { return __dadd_##suffix(a, -b); }                                 \
  static inline double __dmul_##suffix(double a, double b) {                                                                  \
    const double product = a * b;                                                                                             \
    return musasim::to_double(product, musasim::error_of_product(a, b, product), musasim::Rounding::mode);                    \
  }                                                                                                                           \
  static inline double __ddiv_##suffix(double a, double b) {                                                                  \
    const double quotient = a / b;                                                                                            \
    return musasim::to_double(quotient, musasim::error_of_quotient(a, b, quotient), musasim::Rounding::mode);                 \
  }                                                                                                                           \
  static inline double __drcp_##suffix(double a) { return __ddiv_##suffix(1.0, a); }                                          \
  static inline double __dsqrt_##suffix(double a) {                                                                           \
    const double root = std::sqrt(a);                                                                                         \
    return musasim::to_double(root, musasim::error_of_root(a, root), musasim::Rounding::mode);                                \
  }

MUSASIM_IN_EACH_DIRECTION(MUSASIM_FLOAT_ARITHMETIC, )
MUSASIM_IN_EACH_DIRECTION(MUSASIM_DOUBLE_ARITHMETIC, )
#undef MUSASIM_FLOAT_ARITHMETIC
#undef MUSASIM_DOUBLE_ARITHMETIC

static inline float __frsqrt_rn(float a) { return static_cast<float>(musasim::inverse_root(a)); }
static inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
