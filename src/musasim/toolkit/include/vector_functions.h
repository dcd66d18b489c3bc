// make_char1 .. make_double4.
#pragma once

#include "vector_types.h"

#define MUSASIM_MAKE_VECTORS_OF(scalar, name)                                                                    \
  static inline constexpr name##1 make_##name##1(scalar x) { return {x}; }                                       \
  static inline constexpr name##2 make_##name##2(scalar x, scalar y) { return {x, y}; }                          \
  static inline constexpr name##3 make_##name##3(scalar x, scalar y, scalar z) { return {x, y, z}; }             \
  static inline constexpr name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) { return {x, y, z, w}; }

MUSASIM_MAKE_VECTORS_OF(signed char, char)
MUSASIM_MAKE_VECTORS_OF(unsigned char, uchar)
MUSASIM_MAKE_VECTORS_OF(short, short)
MUSASIM_MAKE_VECTORS_OF(unsigned short, ushort)
MUSASIM_MAKE_VECTORS_OF(int, int)
MUSASIM_MAKE_VECTORS_OF(unsigned int, uint)
MUSASIM_MAKE_VECTORS_OF(long, long)
MUSASIM_MAKE_VECTORS_OF(unsigned long, ulong)
MUSASIM_MAKE_VECTORS_OF(long long, longlong)
MUSASIM_MAKE_VECTORS_OF(unsigned long long, ulonglong)
MUSASIM_MAKE_VECTORS_OF(float, float)
MUSASIM_MAKE_VECTORS_OF(double, double)

#undef MUSASIM_MAKE_VECTORS_OF
