// __mt_fp8_e4m3 and __mt_fp8_e5m2, alone, in pairs and in fours.
#pragma once

#include "musa_bf16.h"
#include "musa_fp16.h"

typedef unsigned char __mt_fp8_storage_t;
typedef unsigned short __mt_fp8x2_storage_t;
typedef unsigned int __mt_fp8x4_storage_t;

enum __mt_saturation_t { __MT_NOSAT, __MT_SATFINITE };
enum __mt_fp8_interpretation_t { __MT_E4M3, __MT_E5M2 };

namespace musasim {

// E4M3 has no infinity: the numbers go on to 448, and one pattern is NaN.
inline __mt_fp8_storage_t to_fp8(double value, __mt_saturation_t saturation, __mt_fp8_interpretation_t kind) {
  using E4M3 = SmallFloat<4, 3>;
  using E5M2 = SmallFloat<5, 2>;
  const unsigned sign = bits_of<uint64_t>(value) >> 63 ? 0x80 : 0;
  if (value != value) return 0x7f;
  const unsigned largest = kind == __MT_E4M3 ? 0x7e : 0x7b, beyond = kind == __MT_E4M3 ? 0x7f : 0x7c;
  unsigned rounded = beyond;
  if (value - value == 0) {
    rounded = kind == __MT_E4M3 ? E4M3::magnitude(value, Rounding::nearest) : E5M2::magnitude(value, Rounding::nearest);
  }
  if (rounded > largest) rounded = saturation == __MT_SATFINITE ? largest : beyond;
  return static_cast<__mt_fp8_storage_t>(sign | rounded);
}

inline float from_fp8(__mt_fp8_storage_t bits, __mt_fp8_interpretation_t kind) {
  if (kind == __MT_E5M2) return SmallFloat<5, 2>::widen(bits);
  if ((bits & 0x7f) == 0x7f) return bits_of<float>(0x7fffffffu);
  const float magnitude = SmallFloat<4, 3>::finite(bits & 0x7f);
  return bits & 0x80 ? -magnitude : magnitude;
}

}  // namespace musasim

inline __mt_fp8_storage_t __mt_cvt_double_to_fp8(double value, __mt_saturation_t saturation, __mt_fp8_interpretation_t kind) {
  return musasim::to_fp8(value, saturation, kind);
}
inline __mt_fp8_storage_t __musa_cvt_float_to_fp8(float value, __mt_saturation_t saturation, __mt_fp8_interpretation_t kind) {
  return musasim::to_fp8(value, saturation, kind);
}
inline __mt_fp8_storage_t __mt_cvt_halfraw_to_fp8(__half_raw value, __mt_saturation_t saturation, __mt_fp8_interpretation_t kind) {
  return musasim::to_fp8(__half2float(value), saturation, kind);
}
inline __mt_fp8_storage_t __musa_cvt_bfloat16raw_to_fp8(__mt_bfloat16_raw value, __mt_saturation_t saturation,
                                                        __mt_fp8_interpretation_t kind) {
  return musasim::to_fp8(__bfloat162float(value), saturation, kind);
}
inline __mt_fp8x2_storage_t __musa_cvt_float2_to_fp8x2(float2 value, __mt_saturation_t saturation, __mt_fp8_interpretation_t kind) {
  const unsigned low = musasim::to_fp8(value.x, saturation, kind), high = musasim::to_fp8(value.y, saturation, kind);
  return static_cast<__mt_fp8x2_storage_t>(high << 8 | low);
}
inline __mt_fp8x2_storage_t __mt_cvt_double2_to_fp8x2(double2 value, __mt_saturation_t saturation, __mt_fp8_interpretation_t kind) {
  const unsigned low = musasim::to_fp8(value.x, saturation, kind), high = musasim::to_fp8(value.y, saturation, kind);
  return static_cast<__mt_fp8x2_storage_t>(high << 8 | low);
}
inline __mt_fp8x2_storage_t __mt_cvt_halfraw2_to_fp8x2(__half2_raw value, __mt_saturation_t saturation, __mt_fp8_interpretation_t kind) {
  return __musa_cvt_float2_to_fp8x2(__half22float2(value), saturation, kind);
}
inline __mt_fp8x2_storage_t __mt_cvt_bfloat16raw2_to_fp8x2(__mt_bfloat162_raw value, __mt_saturation_t saturation,
                                                           __mt_fp8_interpretation_t kind) {
  return __musa_cvt_float2_to_fp8x2(__bfloat1622float2(value), saturation, kind);
}
// Every number of either kind is one of half's.
inline __half_raw __musa_cvt_fp8_to_halfraw(__mt_fp8_storage_t value, __mt_fp8_interpretation_t kind) {
  return __float2half(musasim::from_fp8(value, kind));
}
inline __half2_raw __musa_cvt_fp8x2_to_halfraw2(__mt_fp8x2_storage_t value, __mt_fp8_interpretation_t kind) {
  const __half_raw low = __musa_cvt_fp8_to_halfraw(static_cast<unsigned char>(value), kind);
  const __half_raw high = __musa_cvt_fp8_to_halfraw(static_cast<unsigned char>(value >> 8), kind);
  return {low.x, high.x};
}

#define MUSASIM_FP8(name, kind)                                                                                                  \
  struct __mt_fp8_##name {                                                                                                       \
    __mt_fp8_storage_t __x;                                                                                                      \
                                                                                                                                 \
    __mt_fp8_##name() = default;                                                                                                 \
    explicit __mt_fp8_##name(double value) : __x(musasim::to_fp8(value, __MT_SATFINITE, kind)) {}                                \
    explicit __mt_fp8_##name(float value) : __x(musasim::to_fp8(value, __MT_SATFINITE, kind)) {}                                 \
    explicit __mt_fp8_##name(__half value) : __mt_fp8_##name(__half2float(value)) {}                                             \
    explicit __mt_fp8_##name(__mt_bfloat16 value) : __mt_fp8_##name(__bfloat162float(value)) {}                                  \
    explicit operator float() const { return musasim::from_fp8(__x, kind); }                                                     \
    explicit operator double() const { return musasim::from_fp8(__x, kind); }                                                    \
    explicit operator __half() const { return __float2half(musasim::from_fp8(__x, kind)); }                                      \
    explicit operator __mt_bfloat16() const { return __float2bfloat16(musasim::from_fp8(__x, kind)); }                           \
    explicit operator bool() const { return (__x & 0x7f) != 0; }                                                                 \
  };                                                                                                                             \
  struct __mt_fp8x2_##name {                                                                                                     \
    __mt_fp8x2_storage_t __x;                                                                                                    \
                                                                                                                                 \
    __mt_fp8x2_##name() = default;                                                                                               \
    explicit __mt_fp8x2_##name(float2 value) : __x(__musa_cvt_float2_to_fp8x2(value, __MT_SATFINITE, kind)) {}                   \
    explicit __mt_fp8x2_##name(__half2 value) : __mt_fp8x2_##name(__half22float2(value)) {}                                      \
    explicit __mt_fp8x2_##name(__mt_bfloat162 value) : __mt_fp8x2_##name(__bfloat1622float2(value)) {}                           \
    explicit operator __half2() const { return __musa_cvt_fp8x2_to_halfraw2(__x, kind); }                                        \
    explicit operator float2() const { return __half22float2(__musa_cvt_fp8x2_to_halfraw2(__x, kind)); }                         \
  };                                                                                                                             \
  struct __mt_fp8x4_##name {                                                                                                     \
    __mt_fp8x4_storage_t __x;                                                                                                    \
                                                                                                                                 \
    __mt_fp8x4_##name() = default;                                                                                               \
    explicit __mt_fp8x4_##name(float4 value)                                                                                     \
        : __x(static_cast<unsigned>(__mt_fp8x2_##name(float2{value.z, value.w}).__x) << 16 | __mt_fp8x2_##name(float2{value.x, value.y}).__x) {} \
    explicit __mt_fp8x4_##name(__half2 low, __half2 high)                                                                        \
        : __x(static_cast<unsigned>(__mt_fp8x2_##name(high).__x) << 16 | __mt_fp8x2_##name(low).__x) {}                          \
    explicit __mt_fp8x4_##name(__mt_bfloat162 low, __mt_bfloat162 high)                                                          \
        : __x(static_cast<unsigned>(__mt_fp8x2_##name(high).__x) << 16 | __mt_fp8x2_##name(low).__x) {}                          \
    explicit operator float4() const {                                                                                           \
      const auto part = [this](int i) { return musasim::from_fp8(static_cast<unsigned char>(__x >> 8 * i), kind); };             \
      return {part(0), part(1), part(2), part(3)};                                                                               \
    }                                                                                                                            \
  };
MUSASIM_FP8(e4m3, __MT_E4M3)
MUSASIM_FP8(e5m2, __MT_E5M2)
#undef MUSASIM_FP8
