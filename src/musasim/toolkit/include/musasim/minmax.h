// min and max of device code, for every pair of arithmetic types that has a common type in C++.
#pragma once

#include <cmath>

static inline unsigned int umin(unsigned int a, unsigned int b) { return a < b ? a : b; }
static inline unsigned int umax(unsigned int a, unsigned int b) { return a > b ? a : b; }
static inline long long llmin(long long a, long long b) { return a < b ? a : b; }
static inline long long llmax(long long a, long long b) { return a > b ? a : b; }
static inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
static inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a > b ? a : b; }

// Integers of mixed signs become unsigned, as in C++. Floating-point numbers follow fmin and fmax, which drop a NaN.
#define MUSASIM_INTEGER_EXTREMES(common, first, second)                                                   \
  static inline constexpr common min(first a, second b) {                                                 \
    return static_cast<common>(a) < static_cast<common>(b) ? static_cast<common>(a) : static_cast<common>(b); \
  }                                                                                                       \
  static inline constexpr common max(first a, second b) {                                                 \
    return static_cast<common>(a) > static_cast<common>(b) ? static_cast<common>(a) : static_cast<common>(b); \
  }
#define MUSASIM_REAL_EXTREMES(common, first, second)                                                      \
  static inline common min(first a, second b) { return std::fmin(static_cast<common>(a), static_cast<common>(b)); } \
  static inline common max(first a, second b) { return std::fmax(static_cast<common>(a), static_cast<common>(b)); }

MUSASIM_INTEGER_EXTREMES(int, int, int)
MUSASIM_INTEGER_EXTREMES(unsigned int, unsigned int, unsigned int)
MUSASIM_INTEGER_EXTREMES(unsigned int, int, unsigned int)
MUSASIM_INTEGER_EXTREMES(unsigned int, unsigned int, int)
MUSASIM_INTEGER_EXTREMES(long, long, long)
MUSASIM_INTEGER_EXTREMES(unsigned long, unsigned long, unsigned long)
MUSASIM_INTEGER_EXTREMES(unsigned long, long, unsigned long)
MUSASIM_INTEGER_EXTREMES(unsigned long, unsigned long, long)
MUSASIM_INTEGER_EXTREMES(long long, long long, long long)
MUSASIM_INTEGER_EXTREMES(unsigned long long, unsigned long long, unsigned long long)
MUSASIM_INTEGER_EXTREMES(unsigned long long, long long, unsigned long long)
MUSASIM_INTEGER_EXTREMES(unsigned long long, unsigned long long, long long)
MUSASIM_REAL_EXTREMES(float, float, float)
MUSASIM_REAL_EXTREMES(double, double, double)
MUSASIM_REAL_EXTREMES(double, float, double)
MUSASIM_REAL_EXTREMES(double, double, float)
#undef MUSASIM_INTEGER_EXTREMES
#undef MUSASIM_REAL_EXTREMES
