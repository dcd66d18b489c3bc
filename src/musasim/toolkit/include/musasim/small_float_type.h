// The classes of __half and __mt_bfloat16, and of the pairs. It is included once for each, with these names defined besides those
// of small_float_pair.h:
//   MUSASIM_FORMAT                          the SmallFloat it is
//   MUSASIM_NAME                            half or bfloat16, as in __float2half
//   MUSASIM_SCALAR_RAW, MUSASIM_PAIR_RAW    the plain structs of bits
//   MUSASIM_NO_CONVERSIONS                  defined if the extension has switched off implicit conversions

struct alignas(2) MUSASIM_SCALAR_RAW {
  unsigned short x;
};
struct alignas(4) MUSASIM_PAIR_RAW {
  unsigned short x, y;
};

struct MUSASIM_SCALAR;
struct MUSASIM_PAIR;

// The functions that the operators call; small_float_pair.h defines them.
inline MUSASIM_SCALAR __hneg(MUSASIM_SCALAR);
inline MUSASIM_PAIR __hneg2(MUSASIM_PAIR);
inline MUSASIM_SCALAR __hadd(MUSASIM_SCALAR, MUSASIM_SCALAR);
inline MUSASIM_SCALAR __hsub(MUSASIM_SCALAR, MUSASIM_SCALAR);
inline MUSASIM_SCALAR __hmul(MUSASIM_SCALAR, MUSASIM_SCALAR);
inline MUSASIM_SCALAR __hdiv(MUSASIM_SCALAR, MUSASIM_SCALAR);
inline MUSASIM_PAIR __hadd2(MUSASIM_PAIR, MUSASIM_PAIR);
inline MUSASIM_PAIR __hsub2(MUSASIM_PAIR, MUSASIM_PAIR);
inline MUSASIM_PAIR __hmul2(MUSASIM_PAIR, MUSASIM_PAIR);
inline MUSASIM_PAIR __h2div(MUSASIM_PAIR, MUSASIM_PAIR);
#define MUSASIM_COMPARISON(name)                         \
  inline bool __h##name(MUSASIM_SCALAR, MUSASIM_SCALAR); \
  inline bool __hb##name##2(MUSASIM_PAIR, MUSASIM_PAIR);
MUSASIM_COMPARISON(eq)
MUSASIM_COMPARISON(neu)
MUSASIM_COMPARISON(lt)
MUSASIM_COMPARISON(le)
MUSASIM_COMPARISON(gt)
MUSASIM_COMPARISON(ge)
#undef MUSASIM_COMPARISON

struct alignas(2) MUSASIM_SCALAR {
  MUSASIM_SCALAR() = default;
  constexpr MUSASIM_SCALAR(const MUSASIM_SCALAR_RAW& raw) : __x(raw.x) {}
  MUSASIM_SCALAR& operator=(const MUSASIM_SCALAR_RAW& raw) {
    __x = raw.x;
    return *this;
  }
  void operator=(const MUSASIM_SCALAR_RAW& raw) volatile { __x = raw.x; }
  constexpr operator MUSASIM_SCALAR_RAW() const { return {__x}; }
  operator MUSASIM_SCALAR_RAW() const volatile { return {__x}; }

  static constexpr MUSASIM_SCALAR from_bits(unsigned bits) { return MUSASIM_SCALAR_RAW{static_cast<unsigned short>(bits)}; }
  constexpr unsigned bits() const { return __x; }

#ifndef MUSASIM_NO_CONVERSIONS
  operator float() const { return MUSASIM_FORMAT::widen(__x); }
  operator bool() const { return (__x & 0x7fff) != 0; }
#define MUSASIM_CONVERSION(type)                                                                       \
  MUSASIM_SCALAR(type value) : __x(MUSASIM_FORMAT::round(musasim::integer_to_odd(value))) {}           \
  MUSASIM_CONVERSION_TO(type)
#define MUSASIM_CONVERSION_TO(type)                                                                    \
  operator type() const { return musasim::to_integer<type>(MUSASIM_FORMAT::widen(__x), musasim::Rounding::zero); }
  MUSASIM_CONVERSION(short)
  MUSASIM_CONVERSION(unsigned short)
  MUSASIM_CONVERSION(int)
  MUSASIM_CONVERSION(unsigned int)
  MUSASIM_CONVERSION(long)
  MUSASIM_CONVERSION(unsigned long)
  MUSASIM_CONVERSION(long long)
  MUSASIM_CONVERSION(unsigned long long)
  MUSASIM_CONVERSION_TO(char)
  MUSASIM_CONVERSION_TO(signed char)
  MUSASIM_CONVERSION_TO(unsigned char)
#undef MUSASIM_CONVERSION
#undef MUSASIM_CONVERSION_TO
#define MUSASIM_ASSIGNMENT(type) \
  MUSASIM_SCALAR& operator=(type value) { return *this = MUSASIM_SCALAR(value); }
  MUSASIM_SCALAR(float value) : __x(MUSASIM_FORMAT::round(value)) {}
  MUSASIM_SCALAR(double value) : __x(MUSASIM_FORMAT::round(value)) {}
  MUSASIM_ASSIGNMENT(float)
  MUSASIM_ASSIGNMENT(double)
  MUSASIM_ASSIGNMENT(short)
  MUSASIM_ASSIGNMENT(unsigned short)
  MUSASIM_ASSIGNMENT(int)
  MUSASIM_ASSIGNMENT(unsigned int)
  MUSASIM_ASSIGNMENT(long long)
  MUSASIM_ASSIGNMENT(unsigned long long)
#undef MUSASIM_ASSIGNMENT
#endif

#ifndef MUSASIM_NO_OPERATORS
#define MUSASIM_OPERAND MUSASIM_SCALAR
#define MUSASIM_FUNCTION(name) name
#define MUSASIM_COMPARE(name) __h##name
#define MUSASIM_DIVIDE __hdiv
#include "musasim/small_float_operators.h"
  MUSASIM_SCALAR& operator++() { return *this = __hadd(*this, from_bits(MUSASIM_FORMAT::round(1.0))); }
  MUSASIM_SCALAR& operator--() { return *this = __hsub(*this, from_bits(MUSASIM_FORMAT::round(1.0))); }
  MUSASIM_SCALAR operator++(int) {
    const MUSASIM_SCALAR before = *this;
    ++*this;
    return before;
  }
  MUSASIM_SCALAR operator--(int) {
    const MUSASIM_SCALAR before = *this;
    --*this;
    return before;
  }
#endif

 protected:
  unsigned short __x;
};

struct alignas(4) MUSASIM_PAIR {
  MUSASIM_SCALAR x, y;

  MUSASIM_PAIR() = default;
  constexpr MUSASIM_PAIR(const MUSASIM_SCALAR& low, const MUSASIM_SCALAR& high) : x(low), y(high) {}
  constexpr MUSASIM_PAIR(const MUSASIM_PAIR_RAW& raw) : x(MUSASIM_SCALAR_RAW{raw.x}), y(MUSASIM_SCALAR_RAW{raw.y}) {}
  constexpr operator MUSASIM_PAIR_RAW() const {
    return {static_cast<unsigned short>(x.bits()), static_cast<unsigned short>(y.bits())};
  }

#ifndef MUSASIM_NO_PAIR_OPERATORS
#define MUSASIM_OPERAND MUSASIM_PAIR
#define MUSASIM_FUNCTION(name) name##2
#define MUSASIM_COMPARE(name) __hb##name##2
#define MUSASIM_DIVIDE __h2div
#include "musasim/small_float_operators.h"
#endif
};

#define MUSASIM_WIDEN(a) MUSASIM_FORMAT::widen((a).bits())
#define MUSASIM_ROUND(value) MUSASIM_SCALAR::from_bits(MUSASIM_FORMAT::round(value))
#define MUSASIM_PASTE_(a, b, c) a##b##c
#define MUSASIM_PASTE(a, b, c) MUSASIM_PASTE_(a, b, c)
#define MUSASIM_TO(from, mode) MUSASIM_PASTE(__##from##2, MUSASIM_NAME, mode)
#define MUSASIM_FROM(to_mode) MUSASIM_PASTE(__, MUSASIM_NAME, 2##to_mode)

#define MUSASIM_CONVERSION(type, name)                                                                                         \
  MUSASIM_CONVERSION_ROUNDED(type, name, _rn, name##_rn, nearest)                                                              \
  MUSASIM_CONVERSION_ROUNDED(type, name, _rz, name##_rz, zero)                                                                 \
  MUSASIM_CONVERSION_ROUNDED(type, name, _rd, name##_rd, down)                                                                 \
  MUSASIM_CONVERSION_ROUNDED(type, name, _ru, name##_ru, up)
#define MUSASIM_CONVERSION_ROUNDED(type, name, mode, name_mode, rounding)                                                      \
  inline MUSASIM_SCALAR MUSASIM_TO(name, mode)(type value) {                                                                   \
    return MUSASIM_SCALAR::from_bits(MUSASIM_FORMAT::round(musasim::integer_to_odd(value), musasim::Rounding::rounding));      \
  }                                                                                                                            \
  inline type MUSASIM_FROM(name_mode)(MUSASIM_SCALAR a) {                                                                      \
    return musasim::to_integer<type>(MUSASIM_WIDEN(a), musasim::Rounding::rounding);                                           \
  }

MUSASIM_CONVERSION(short, short)
MUSASIM_CONVERSION(unsigned short, ushort)
MUSASIM_CONVERSION(int, int)
MUSASIM_CONVERSION(unsigned int, uint)
MUSASIM_CONVERSION(long long, ll)
MUSASIM_CONVERSION(unsigned long long, ull)
#undef MUSASIM_CONVERSION
#undef MUSASIM_CONVERSION_ROUNDED

inline signed char MUSASIM_FROM(char_rz)(MUSASIM_SCALAR a) {
  return musasim::to_integer<signed char>(MUSASIM_WIDEN(a), musasim::Rounding::zero);
}
inline unsigned char MUSASIM_FROM(uchar_rz)(MUSASIM_SCALAR a) {
  return musasim::to_integer<unsigned char>(MUSASIM_WIDEN(a), musasim::Rounding::zero);
}

inline float MUSASIM_FROM(float)(MUSASIM_SCALAR a) { return MUSASIM_WIDEN(a); }
inline MUSASIM_SCALAR MUSASIM_TO(double, )(double value) { return MUSASIM_ROUND(value); }
inline MUSASIM_SCALAR MUSASIM_TO(float, )(float value) { return MUSASIM_ROUND(value); }
inline MUSASIM_SCALAR MUSASIM_TO(float, _rn)(float value) { return MUSASIM_ROUND(value); }
inline MUSASIM_SCALAR MUSASIM_TO(float, _rz)(float value) {
  return MUSASIM_SCALAR::from_bits(MUSASIM_FORMAT::round(value, musasim::Rounding::zero));
}
inline MUSASIM_SCALAR MUSASIM_TO(float, _rd)(float value) {
  return MUSASIM_SCALAR::from_bits(MUSASIM_FORMAT::round(value, musasim::Rounding::down));
}
inline MUSASIM_SCALAR MUSASIM_TO(float, _ru)(float value) {
  return MUSASIM_SCALAR::from_bits(MUSASIM_FORMAT::round(value, musasim::Rounding::up));
}
inline float __low2float(MUSASIM_PAIR a) { return MUSASIM_WIDEN(a.x); }
inline float __high2float(MUSASIM_PAIR a) { return MUSASIM_WIDEN(a.y); }

inline short MUSASIM_PASTE(__, MUSASIM_NAME, _as_short)(MUSASIM_SCALAR a) { return static_cast<short>(a.bits()); }
inline unsigned short MUSASIM_PASTE(__, MUSASIM_NAME, _as_ushort)(MUSASIM_SCALAR a) {
  return static_cast<unsigned short>(a.bits());
}
inline MUSASIM_SCALAR MUSASIM_PASTE(__short_as_, MUSASIM_NAME, )(short bits) {
  return MUSASIM_SCALAR::from_bits(static_cast<unsigned short>(bits));
}
inline MUSASIM_SCALAR MUSASIM_PASTE(__ushort_as_, MUSASIM_NAME, )(unsigned short bits) { return MUSASIM_SCALAR::from_bits(bits); }

#include "musasim/small_float_pair.h"

#undef MUSASIM_WIDEN
#undef MUSASIM_ROUND
#undef MUSASIM_PASTE_
#undef MUSASIM_PASTE
#undef MUSASIM_TO
#undef MUSASIM_FROM
#undef MUSASIM_FORMAT
#undef MUSASIM_NAME
#undef MUSASIM_SCALAR
#undef MUSASIM_SCALAR_RAW
#undef MUSASIM_PAIR
#undef MUSASIM_PAIR_RAW
#undef MUSASIM_NO_CONVERSIONS
#undef MUSASIM_NO_OPERATORS
#undef MUSASIM_NO_PAIR_OPERATORS
