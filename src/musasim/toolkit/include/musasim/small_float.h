// Floating-point formats of few bits: exact widening to float, and rounding once from double, in every mode of IEEE 754.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "musasim/conversions.h"

namespace musasim {

enum class Rounding { nearest, zero, down, up };

template <class To, class From>
inline To bits_of(From value) {
  static_assert(sizeof(To) == sizeof(From), "a bit pattern keeps its size");
  To result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

// Whether to round a magnitude away from zero. `odd` is its last kept bit, and its dropped part compares to half of that bit as
// `rest` does to `half`.
inline bool rounds_away(Rounding mode, bool negative, bool odd, uint64_t rest, uint64_t half) {
  switch (mode) {
    case Rounding::nearest: return rest > half || (rest == half && odd);
    case Rounding::zero: return false;
    case Rounding::down: return negative && rest != 0;
    case Rounding::up: return !negative && rest != 0;
  }
  return false;
}

template <int exponent_bits, int mantissa_bits>
struct SmallFloat {
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  static constexpr uint32_t sign = 1u << (exponent_bits + mantissa_bits);
  static constexpr uint32_t nan = sign - 1;  // the devices' pattern for every NaN

  // The magnitude of a finite number, rounded as if exponents had no upper end: it may come out at `infinity` or above.
  static uint32_t magnitude(double value, Rounding mode) {
    const uint64_t bits = bits_of<uint64_t>(value) & ~(1ull << 63);
    const bool negative = bits_of<uint64_t>(value) >> 63;
    const int field = static_cast<int>(bits >> 52);
    const uint64_t fraction = bits & ((1ull << 52) - 1);
    const uint64_t significand = field == 0 ? fraction : fraction | 1ull << 52;
    const int exponent = (field == 0 ? 1 : field) - 1023;
    const int lowest = 1 - bias;  // of a normal number; below it the last bit stays where it is
    const int top = exponent < lowest ? lowest : exponent;
    int dropped = 52 - mantissa_bits + (top - exponent);
    if (dropped > 60) dropped = 60;  // nothing is kept, and the rest is less than half
    const uint64_t kept = significand >> dropped;
    const uint64_t rest = significand - (kept << dropped);
    const bool away = rounds_away(mode, negative, kept & 1, rest, 1ull << (dropped - 1));
    // The leading bit of a normal number counts as one in the exponent, and a carry moves on into it.
    return (static_cast<uint32_t>(top + bias - 1) << mantissa_bits) + static_cast<uint32_t>(kept) + away;
  }

  // Whether the fast path applies, as for most values.
  static bool is_normal(uint64_t bits) {
    const uint64_t field = bits >> 52 & 0x7ff;
    return field > 1023 - bias && field <= 1023 + bias;
  }
  static uint32_t nearest_normal(uint64_t bits) {
    const uint64_t value = bits & ~(1ull << 63);
    const uint64_t to_even = (1ull << (51 - mantissa_bits)) - 1 + (value >> (52 - mantissa_bits) & 1);
    return static_cast<uint32_t>(((value + to_even) >> (52 - mantissa_bits)) - (uint64_t{1023 - bias} << mantissa_bits));
  }

  using Bits = std::conditional_t<(exponent_bits + mantissa_bits < 16), uint16_t, uint32_t>;

  static Bits round(double value, Rounding mode = Rounding::nearest) {
    const uint64_t bits = bits_of<uint64_t>(value);
    const bool negative = bits >> 63;
    const uint32_t with_sign = negative ? sign : 0;
    if (mode == Rounding::nearest && is_normal(bits)) return static_cast<Bits>(with_sign | nearest_normal(bits));
    if (value != value) return nan;
    if (value - value != 0) return static_cast<Bits>(with_sign | infinity);
    const uint32_t rounded = magnitude(value, mode);
    if (rounded < infinity) return static_cast<Bits>(with_sign | rounded);
    const bool to_infinity = mode == Rounding::nearest || mode == (negative ? Rounding::down : Rounding::up);
    return static_cast<Bits>(with_sign | (to_infinity ? infinity : infinity - 1));
  }

  static float widen(uint32_t bits) {
    const uint32_t rest = bits & (sign - 1);
    const uint32_t with_sign = bits & sign ? 0x80000000u : 0;
    if (rest >= infinity) return bits_of<float>(with_sign | 0x7f800000u | (rest - infinity) << (23 - mantissa_bits));
    return bits_of<float>(with_sign | bits_of<uint32_t>(finite(rest)));
  }

  // Avoids denormal floats, because a process may flush them to zero.
  static float finite(uint32_t rest) {
    if constexpr (bias == 127) {
      return bits_of<float>(rest << (23 - mantissa_bits));
    } else {
      if (rest >> mantissa_bits) return bits_of<float>((rest << (23 - mantissa_bits)) + (uint32_t{127 - bias} << 23));
      return static_cast<float>(rest) / static_cast<float>(1u << (bias - 1 + mantissa_bits));
    }
  }
};

using Binary16 = SmallFloat<5, 10>;
using Brain16 = SmallFloat<8, 7>;
using Binary32 = SmallFloat<8, 23>;  // for rounding in other directions than the processor's

// Rounds to odd if the value is not exact, so that rounding the result again to at most half the bits equals rounding once.
inline double to_odd(double rounded, double error) {
  const int64_t bits = bits_of<int64_t>(rounded);
  if (error == 0 || error != error || bits & 1) return rounded;
  const bool towards_zero = (error < 0) == (rounded > 0);
  return bits_of<double>(towards_zero ? bits - 1 : bits + 1);
}

inline double add_to_odd(double a, double b) {
  const double sum = a + b;
  const double from_b = sum - a;
  return to_odd(sum, (a - (sum - from_b)) + (b - from_b));
}

template <class Integer>
inline double integer_to_odd(Integer value) {
  const double rounded = static_cast<double>(value);
  if constexpr (sizeof(Integer) < 8) return rounded;
  if (value == 0) return rounded;
  return to_odd(rounded, static_cast<double>(static_cast<__int128>(value) - static_cast<__int128>(rounded)));
}

inline double to_whole(double value, Rounding mode) {
  switch (mode) {
    case Rounding::nearest: return __builtin_nearbyint(value);
    case Rounding::zero: return __builtin_trunc(value);
    case Rounding::down: return __builtin_floor(value);
    case Rounding::up: return __builtin_ceil(value);
  }
  return value;
}

// Converts to an integer in the given direction. What it cannot hold becomes its nearest end, also in types of few bits.
template <class Integer, class Real>
inline Integer to_integer(Real value, Rounding mode) {
  if (value != value) return of_nan<Integer, Real>();
  return nearest_end<Integer>(to_whole(value, mode));
}

}  // namespace musasim
