// __half and __half2: IEEE 754's binary16, on the host and in kernels.
#pragma once

#include <cmath>

#include "musasim/small_float.h"
#include "vector_functions.h"

#define MUSASIM_SCALAR __half
#define MUSASIM_PAIR __half2
#define MUSASIM_SCALAR_RAW __half_raw
#define MUSASIM_PAIR_RAW __half2_raw
#define MUSASIM_NAME half
#define MUSASIM_FORMAT musasim::Binary16
#ifdef __MUSA_NO_HALF_CONVERSIONS__
#define MUSASIM_NO_CONVERSIONS
#endif
#ifdef __MUSA_NO_HALF_OPERATORS__
#define MUSASIM_NO_OPERATORS
#endif
#if defined(__MUSA_NO_HALF2_OPERATORS__) || defined(__MUSA_NO_HALF_OPERATORS__)
#define MUSASIM_NO_PAIR_OPERATORS
#endif
#include "musasim/small_float_type.h"

typedef __half __mt_half;
typedef __half2 __mt_half2;
typedef __half mt_half;
typedef __half2 mt_half2;
typedef __half_raw __mt_half_raw;
typedef __half2_raw __mt_half2_raw;
#ifndef MUSA_NO_HALF
typedef __half half;
typedef __half2 half2;
#endif

inline float2 __half22float2(__half2 a) { return {__low2float(a), __high2float(a)}; }
inline __half2 __floats2half2_rn(float x, float y) { return {__float2half(x), __float2half(y)}; }
inline __half2 __float22half2_rn(float2 a) { return __floats2half2_rn(a.x, a.y); }
inline __half2 __float2half2_rn(float value) { return __floats2half2_rn(value, value); }

inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half a) { return {a, a}; }
inline __half __low2half(__half2 a) { return a.x; }
inline __half __high2half(__half2 a) { return a.y; }
inline __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
inline __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
inline __half2 __lowhigh2highlow(__half2 a) { return {a.y, a.x}; }
inline __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
inline __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }

#ifdef __MUSACC__
#include "musasim/atomics.h"
#include "musasim/memory.h"
#include "musasim/warp.h"

MUSASIM_ATOMIC_UPDATE(atomicAdd, __half, __hadd(old, value))
MUSASIM_ATOMIC_UPDATE(atomicAdd, __half2, __hadd2(old, value))

template <>
struct musasim::Shuffled<__half> : std::true_type {};
template <>
struct musasim::Shuffled<__half2> : std::true_type {};
template <>
struct musasim::Loaded<__half> : std::true_type {};
template <>
struct musasim::Loaded<__half2> : std::true_type {};
#endif
