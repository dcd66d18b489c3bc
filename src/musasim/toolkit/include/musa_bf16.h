// __mt_bfloat16 and __mt_bfloat162: the upper half of a float, on the host and in kernels.
#pragma once

#include <cmath>

#include "musasim/small_float.h"
#include "vector_functions.h"

#define MUSASIM_SCALAR __mt_bfloat16
#define MUSASIM_PAIR __mt_bfloat162
#define MUSASIM_SCALAR_RAW __mt_bfloat16_raw
#define MUSASIM_PAIR_RAW __mt_bfloat162_raw
#define MUSASIM_NAME bfloat16
#define MUSASIM_FORMAT musasim::Brain16
#ifdef __MUSA_NO_BFLOAT16_CONVERSIONS__
#define MUSASIM_NO_CONVERSIONS
#endif
#ifdef __MUSA_NO_BFLOAT16_OPERATORS__
#define MUSASIM_NO_OPERATORS
#endif
#if defined(__MUSA_NO_BFLOAT162_OPERATORS__) || defined(__MUSA_NO_BFLOAT16_OPERATORS__)
#define MUSASIM_NO_PAIR_OPERATORS
#endif
#include "musasim/small_float_type.h"

typedef __mt_bfloat16 mt_bfloat16;
typedef __mt_bfloat162 mt_bfloat162;

inline float2 __bfloat1622float2(__mt_bfloat162 a) { return {__low2float(a), __high2float(a)}; }
inline __mt_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__float2bfloat16(x), __float2bfloat16(y)}; }
inline __mt_bfloat162 __float22bfloat162_rn(float2 a) { return __floats2bfloat162_rn(a.x, a.y); }
inline __mt_bfloat162 __float2bfloat162_rn(float value) { return __floats2bfloat162_rn(value, value); }

inline __mt_bfloat162 make_bfloat162(__mt_bfloat16 x, __mt_bfloat16 y) { return {x, y}; }
inline __mt_bfloat162 __halves2bfloat162(__mt_bfloat16 x, __mt_bfloat16 y) { return {x, y}; }
inline __mt_bfloat162 __bfloat162bfloat162(__mt_bfloat16 a) { return {a, a}; }
inline __mt_bfloat16 __low2bfloat16(__mt_bfloat162 a) { return a.x; }
inline __mt_bfloat16 __high2bfloat16(__mt_bfloat162 a) { return a.y; }
inline __mt_bfloat162 __low2bfloat162(__mt_bfloat162 a) { return {a.x, a.x}; }
inline __mt_bfloat162 __high2bfloat162(__mt_bfloat162 a) { return {a.y, a.y}; }
inline __mt_bfloat162 __lowhigh2highlow(__mt_bfloat162 a) { return {a.y, a.x}; }
inline __mt_bfloat162 __lows2bfloat162(__mt_bfloat162 a, __mt_bfloat162 b) { return {a.x, b.x}; }
inline __mt_bfloat162 __highs2bfloat162(__mt_bfloat162 a, __mt_bfloat162 b) { return {a.y, b.y}; }

#ifdef __MUSACC__
#include "musasim/atomics.h"
#include "musasim/memory.h"
#include "musasim/warp.h"

MUSASIM_ATOMIC_UPDATE(atomicAdd, __mt_bfloat16, __hadd(old, value))
MUSASIM_ATOMIC_UPDATE(atomicAdd, __mt_bfloat162, __hadd2(old, value))

template <>
struct musasim::Shuffled<__mt_bfloat16> : std::true_type {};
template <>
struct musasim::Shuffled<__mt_bfloat162> : std::true_type {};
template <>
struct musasim::Loaded<__mt_bfloat16> : std::true_type {};
template <>
struct musasim::Loaded<__mt_bfloat162> : std::true_type {};
#endif
