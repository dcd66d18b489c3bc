// Conversions and arithmetic of device code, one entry point each. The arrays' order is that of on_device.h.
#include <math_constants.h>
#include <musa_bf16.h>
#include <musa_fp16.h>

#include "on_device.h"

#define SMALL_FLOAT(T, name)                                                  \
  MAP1(name##_to_float, float, T, __##name##2float(a))                        \
  MAP1(double_to_##name, T, double, __double2##name(a))                       \
  MAP1(float_to_##name, T, float, __float2##name(a))                          \
  MAP1(float_to_##name##_zero, T, float, __float2##name##_rz(a))              \
  MAP1(float_to_##name##_down, T, float, __float2##name##_rd(a))              \
  MAP1(float_to_##name##_up, T, float, __float2##name##_ru(a))                \
  MAP1(long_to_##name, T, long long, __ll2##name##_rn(a))                     \
  MAP1(long_to_##name##_down, T, long long, __ll2##name##_rd(a))              \
  MAP1(name##_to_int_nearest, int, T, __##name##2int_rn(a))                   \
  MAP1(name##_to_int_zero, int, T, static_cast<int>(a))                       \
  MAP1(name##_to_int_down, int, T, __##name##2int_rd(a))                      \
  MAP1(name##_to_int_up, int, T, __##name##2int_ru(a))                        \
  MAP1(name##_to_unsigned, unsigned short, T, __##name##2ushort_rz(a))        \
  MAP3(name##_add, T, T, T, T, __hadd(a, b))                                  \
  MAP3(name##_sub, T, T, T, T, a - b)                                         \
  MAP3(name##_mul, T, T, T, T, __hmul2(T##2(a, b), T##2(b, c)).x)             \
  MAP3(name##_div, T, T, T, T, a / b)                                         \
  MAP3(name##_fma, T, T, T, T, __hfma2(T##2(c, a), T##2(c, b), T##2(a, c)).y) \
  MAP3(name##_max, T, T, T, T, __hmax(a, b))                                  \
  MAP3(name##_min, T, T, T, T, __hmin2(T##2(b, a), T##2(a, b)).y)             \
  MAP3(name##_max_nan, T, T, T, T, __hmax_nan(a, b))                          \
  MAP3(name##_compare, int, T, T, T,                                          \
       (a == b) | (a != b) << 1 | (a < b) << 2 | __hle(a, b) << 3 | __hgt2_mask(T##2(a, b), T##2(b, a)) % 2 << 4 | __hgeu(a, b) << 5) \
  MAP1(name##_exp, T, T, hexp(a))                                             \
  MAP1(name##_log2, T, T, h2log2(T##2(a, a)).x)                               \
  MAP1(name##_sqrt, T, T, hsqrt(a))                                           \
  MAP1(name##_rsqrt, T, T, hrsqrt(a))                                         \
  MAP1(name##_tanh, T, T, htanh(a))                                           \
  MAP1(name##_rint, T, T, hrint(a))                                           \
  MAP1(name##_floor, T, T, h2floor(T##2(a, a)).y)

SMALL_FLOAT(__half, half)
SMALL_FLOAT(__mt_bfloat16, bfloat16)

MAP1(f_rsqrt, float, float, rsqrtf(a) + 0 * rsqrt(a))
MAP1(f_fast_exp, float, float, __expf(a))
MAP1(f_sigmoid, float, float, __fdividef(1.0f, 1.0f + __expf(-a)))
MAP1(f_saturate, float, float, __saturatef(a))
MAP1(d_rcbrt, double, double, rcbrt(a))
MAP1(d_erfinv, double, double, erfinv(a))
MAP1(d_erfcx, double, double, erfcx(a))
MAP1(d_normcdf, double, double, normcdf(a))
MAP1(d_normcdfinv, double, double, normcdfinv(a))
MAP1(d_bessel_i0, double, double, cyl_bessel_i0(a))
MAP1(d_bessel_i1, double, double, cyl_bessel_i1(a))
MAP1(d_sinpi, double, double, sinpi(a))
MAP1(d_cospi, double, double, cospi(a))
MAP3(d_norm3d, double, double, double, double, norm3d(a, b, c))
MAP3(d_rhypot, double, double, double, double, rhypot(a, b))

#define DIRECTIONS(name, T, function, arguments)              \
  MAP3(name##_rn, T, T, T, T, function##_rn arguments)        \
  MAP3(name##_rz, T, T, T, T, function##_rz arguments)        \
  MAP3(name##_rd, T, T, T, T, function##_rd arguments)        \
  MAP3(name##_ru, T, T, T, T, function##_ru arguments)
DIRECTIONS(fadd, float, __fadd, (a, b))
DIRECTIONS(fmul, float, __fmul, (a, b))
DIRECTIONS(fdiv, float, __fdiv, (a, b))
DIRECTIONS(fma, float, __fmaf, (a, b, c))
DIRECTIONS(dadd, double, __dadd, (a, b))
DIRECTIONS(dmul, double, __dmul, (a, b))
DIRECTIONS(ddiv, double, __ddiv, (a, b))

MAP1(float_to_int_rn, int, float, __float2int_rn(a))
MAP1(float_to_int_rz, int, float, __float2int_rz(a))
MAP1(float_to_int_rd, int, float, __float2int_rd(a))
MAP1(float_to_int_ru, int, float, __float2int_ru(a))
MAP1(double_to_ull_rz, unsigned long long, double, __double2ull_rz(a))

MAP1(popc, int, unsigned int, __popc(a))
MAP1(clz, int, int, __clz(a))
MAP1(ffs, int, int, __ffs(a))
MAP1(brev, unsigned int, unsigned int, __brev(a))
MAP3(byte_perm, unsigned int, unsigned int, unsigned int, unsigned int, __byte_perm(a, b, c))
MAP3(umulhi, unsigned int, unsigned int, unsigned int, unsigned int, __umulhi(a, b))
MAP3(funnel_l, unsigned int, unsigned int, unsigned int, unsigned int, __funnelshift_l(a, b, c))
MAP3(funnel_rc, unsigned int, unsigned int, unsigned int, unsigned int, __funnelshift_rc(a, b, c % 40))
MAP3(dp4a, int, int, int, int, __dp4a(a, b, c))
MAP3(vadd4, unsigned int, unsigned int, unsigned int, unsigned int, __vadd4(a, b))
MAP3(vsubss2, unsigned int, unsigned int, unsigned int, unsigned int, __vsubss2(a, b))
MAP3(vcmpgtu4, unsigned int, unsigned int, unsigned int, unsigned int, __vcmpgtu4(a, b))
MAP3(mixed_max, unsigned int, int, unsigned int, int, max(a, b))
MAP3(nan_min, float, float, float, float, min(a, b))

// Alignments and sizes, as the device has them.
static_assert(alignof(float4) == 16 && sizeof(float3) == 12 && alignof(float3) == 4 && alignof(char4) == 4 && alignof(short2) == 4);
static_assert(alignof(double2) == 16 && alignof(longlong4) == 16 && sizeof(uchar3) == 3 && alignof(uint2) == 8 && sizeof(dim3) == 12);
static_assert(alignof(__half2) == 4 && sizeof(__mt_bfloat162) == 4 && std::is_trivially_default_constructible<__half2>::value);

// As c10::Half does, it turns into either: its comparison is that of floats, and a sum with half is half's.
struct EitherWay {
  unsigned short bits;
  __device__ operator float() const { return __half2float(__ushort_as_half(bits)); }
  __device__ operator __half() const { return __ushort_as_half(bits); }
};
static_assert(sizeof(EitherWay) == 2);
#ifndef __CUDACC__  // there, two operators fit as well as each other, and c10::Half declares its own
MAP3(either_way, int, EitherWay, EitherWay, __half, (a == b) | (a < b) << 1 | (static_cast<__half>(a) + c != c) << 2)
#endif
