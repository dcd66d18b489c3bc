// Complex numbers as the libraries take them, and their arithmetic.
#pragma once

#include <cmath>

#include "host_defines.h"
#include "vector_types.h"

typedef float2 muFloatComplex;
typedef double2 muDoubleComplex;
typedef muFloatComplex muComplex;

#define MUSASIM_COMPLEX(type, real, suffix)                                                                                 \
  __host__ __device__ inline type make_##type(real x, real y) {                                                             \
    return {x, y};                                                                                                          \
  }                                                                                                                         \
  __host__ __device__ inline real muCreal##suffix(type x) {                                                                 \
    return x.x;                                                                                                             \
  }                                                                                                                         \
  __host__ __device__ inline real muCimag##suffix(type x) {                                                                 \
    return x.y;                                                                                                             \
  }                                                                                                                         \
  __host__ __device__ inline type muConj##suffix(type x) {                                                                  \
    return {x.x, -x.y};                                                                                                     \
  }                                                                                                                         \
  __host__ __device__ inline type muCadd##suffix(type x, type y) {                                                          \
    return {x.x + y.x, x.y + y.y};                                                                                          \
  }                                                                                                                         \
  __host__ __device__ inline type muCsub##suffix(type x, type y) {                                                          \
    return {x.x - y.x, x.y - y.y};                                                                                          \
  }                                                                                                                         \
  __host__ __device__ inline type muCmul##suffix(type x, type y) {                                                          \
    return {x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x};                                                                  \
  }                                                                                                                         \
  __host__ __device__ inline type muCdiv##suffix(type x, type y) {                                                          \
    const real scale = std::fabs(y.x) + std::fabs(y.y);                                                                     \
    const type a = {x.x / scale, x.y / scale}, b = {y.x / scale, y.y / scale};                                              \
    const real square = b.x * b.x + b.y * b.y;                                                                              \
    return {(a.x * b.x + a.y * b.y) / square, (a.y * b.x - a.x * b.y) / square};                                            \
  }                                                                                                                         \
  __host__ __device__ inline real muCabs##suffix(type x) {                                                                  \
    return std::hypot(x.x, x.y);                                                                                            \
  }                                                                                                                         \
  __host__ __device__ inline type muCfma##suffix(type x, type y, type z) {                                                  \
    return muCadd##suffix(muCmul##suffix(x, y), z);                                                                         \
  }

MUSASIM_COMPLEX(muFloatComplex, float, f)
MUSASIM_COMPLEX(muDoubleComplex, double, )
#undef MUSASIM_COMPLEX

__host__ __device__ inline muComplex make_muComplex(float x, float y) {
  return {x, y};
}
__host__ __device__ inline muDoubleComplex muComplexFloatToDouble(muFloatComplex x) {
  return {x.x, x.y};
}
__host__ __device__ inline muFloatComplex muComplexDoubleToFloat(muDoubleComplex x) {
  return {static_cast<float>(x.x), static_cast<float>(x.y)};
}
