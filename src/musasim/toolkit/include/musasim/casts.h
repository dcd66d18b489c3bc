// Bit patterns as other types, and conversions between numbers in a stated direction: __float_as_int, __float2int_rn, __ll2float_rz.
#pragma once

#include "musasim/small_float.h"

static inline int __float_as_int(float value) { return musasim::bits_of<int>(value); }
static inline unsigned int __float_as_uint(float value) { return musasim::bits_of<unsigned int>(value); }
static inline float __int_as_float(int bits) { return musasim::bits_of<float>(bits); }
static inline float __uint_as_float(unsigned int bits) { return musasim::bits_of<float>(bits); }
static inline long long __double_as_longlong(double value) { return musasim::bits_of<long long>(value); }
static inline double __longlong_as_double(long long bits) { return musasim::bits_of<double>(bits); }
static inline int __double2hiint(double value) { return static_cast<int>(__double_as_longlong(value) >> 32); }
static inline int __double2loint(double value) { return static_cast<int>(__double_as_longlong(value)); }
static inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(static_cast<unsigned long long>(high) << 32 | static_cast<unsigned int>(low)));
}

namespace musasim {

// The float in the given direction from a double that is exact or rounded to odd.
inline float to_float(double value, Rounding mode) {
  return mode == Rounding::nearest ? static_cast<float>(value) : bits_of<float>(Binary32::round(value, mode));
}

// The next double in the given direction if `error`, the exact value minus the rounded one, points there.
inline double to_double(double rounded, double error, Rounding mode) {
  if (mode == Rounding::nearest || error == 0 || error != error) return rounded;
  const bool up = mode == Rounding::up || (mode == Rounding::zero && rounded < 0);
  if ((error > 0) != up) return rounded;
  return __builtin_nextafter(rounded, up ? __builtin_inf() : -__builtin_inf());
}

template <class Integer>
inline double integer_to_double(Integer value, Rounding mode) {
  const double rounded = static_cast<double>(value);
  return to_double(rounded, static_cast<double>(static_cast<__int128>(value) - static_cast<__int128>(rounded)), mode);
}

}  // namespace musasim

#define MUSASIM_IN_EACH_DIRECTION(conversion, ...) \
  conversion(rn, nearest, __VA_ARGS__)             \
  conversion(rz, zero, __VA_ARGS__)                \
  conversion(rd, down, __VA_ARGS__)                \
  conversion(ru, up, __VA_ARGS__)

#define MUSASIM_REAL_TO_INTEGER(suffix, mode, real, integer, name)                                         \
  static inline integer __##real##2##name##_##suffix(real value) {                                         \
    return musasim::to_integer<integer>(value, musasim::Rounding::mode);                                   \
  }
#define MUSASIM_INTEGER_TO_FLOAT(suffix, mode, integer, name)                                              \
  static inline float __##name##2float_##suffix(integer value) {                                           \
    return musasim::to_float(musasim::integer_to_odd(value), musasim::Rounding::mode);                     \
  }
#define MUSASIM_INTEGER_TO_DOUBLE(suffix, mode, integer, name)                                             \
  static inline double __##name##2double_##suffix(integer value) {                                         \
    return musasim::integer_to_double(value, musasim::Rounding::mode);                                     \
  }
#define MUSASIM_DOUBLE_TO_FLOAT(suffix, mode, ...)                                                         \
  static inline float __double2float_##suffix(double value) { return musasim::to_float(value, musasim::Rounding::mode); }
#define MUSASIM_CONVERSIONS_OF(integer, name)                                                              \
  MUSASIM_IN_EACH_DIRECTION(MUSASIM_REAL_TO_INTEGER, float, integer, name)                                 \
  MUSASIM_IN_EACH_DIRECTION(MUSASIM_REAL_TO_INTEGER, double, integer, name)                                \
  MUSASIM_IN_EACH_DIRECTION(MUSASIM_INTEGER_TO_FLOAT, integer, name)                                       \
  MUSASIM_IN_EACH_DIRECTION(MUSASIM_INTEGER_TO_DOUBLE, integer, name)

MUSASIM_CONVERSIONS_OF(int, int)
MUSASIM_CONVERSIONS_OF(unsigned int, uint)
MUSASIM_CONVERSIONS_OF(long long, ll)
MUSASIM_CONVERSIONS_OF(unsigned long long, ull)
MUSASIM_IN_EACH_DIRECTION(MUSASIM_DOUBLE_TO_FLOAT, )

#undef MUSASIM_REAL_TO_INTEGER
#undef MUSASIM_INTEGER_TO_FLOAT
#undef MUSASIM_INTEGER_TO_DOUBLE
#undef MUSASIM_DOUBLE_TO_FLOAT
#undef MUSASIM_CONVERSIONS_OF
