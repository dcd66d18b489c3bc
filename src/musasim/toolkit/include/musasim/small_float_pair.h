// The common part of __half and __mt_bfloat16. It is included once for each of them, with these names defined:
//   MUSASIM_SCALAR, MUSASIM_PAIR   the number and the pair of two
//   MUSASIM_WIDEN(x)               its float, exactly
//   MUSASIM_ROUND(x)               the nearest one to a double
// Arithmetic in double on numbers of at most eleven bits is rounded only once, because double has more than twice as many bits.
// Only fused operations need the rounding to odd of small_float.h.

#define MUSASIM_ARITHMETIC(name, sign)                                                                        \
  inline MUSASIM_SCALAR name(MUSASIM_SCALAR a, MUSASIM_SCALAR b) {                                            \
    return MUSASIM_ROUND(static_cast<double>(MUSASIM_WIDEN(a)) sign static_cast<double>(MUSASIM_WIDEN(b)));   \
  }                                                                                                           \
  inline MUSASIM_SCALAR name##_rn(MUSASIM_SCALAR a, MUSASIM_SCALAR b) { return name(a, b); }                  \
  inline MUSASIM_PAIR name##2(MUSASIM_PAIR a, MUSASIM_PAIR b) { return {name(a.x, b.x), name(a.y, b.y)}; }    \
  inline MUSASIM_PAIR name##2_rn(MUSASIM_PAIR a, MUSASIM_PAIR b) { return name##2(a, b); }

MUSASIM_ARITHMETIC(__hadd, +)
MUSASIM_ARITHMETIC(__hsub, -)
MUSASIM_ARITHMETIC(__hmul, *)
#undef MUSASIM_ARITHMETIC

inline MUSASIM_SCALAR __hdiv(MUSASIM_SCALAR a, MUSASIM_SCALAR b) {
  return MUSASIM_ROUND(static_cast<double>(MUSASIM_WIDEN(a)) / static_cast<double>(MUSASIM_WIDEN(b)));
}
inline MUSASIM_PAIR __h2div(MUSASIM_PAIR a, MUSASIM_PAIR b) { return {__hdiv(a.x, b.x), __hdiv(a.y, b.y)}; }

inline MUSASIM_SCALAR __hneg(MUSASIM_SCALAR a) { return MUSASIM_SCALAR::from_bits(a.bits() ^ 0x8000u); }
inline MUSASIM_SCALAR __habs(MUSASIM_SCALAR a) { return MUSASIM_SCALAR::from_bits(a.bits() & 0x7fffu); }
inline MUSASIM_PAIR __hneg2(MUSASIM_PAIR a) { return {__hneg(a.x), __hneg(a.y)}; }
inline MUSASIM_PAIR __habs2(MUSASIM_PAIR a) { return {__habs(a.x), __habs(a.y)}; }

inline bool __hisnan(MUSASIM_SCALAR a) { return MUSASIM_WIDEN(a) != MUSASIM_WIDEN(a); }
inline int __hisinf(MUSASIM_SCALAR a) {
  const float value = MUSASIM_WIDEN(a);
  return value - value == 0 || value != value ? 0 : value < 0 ? -1 : 1;
}

inline MUSASIM_SCALAR __hfma(MUSASIM_SCALAR a, MUSASIM_SCALAR b, MUSASIM_SCALAR c) {
  const double product = static_cast<double>(MUSASIM_WIDEN(a)) * static_cast<double>(MUSASIM_WIDEN(b));
  return MUSASIM_ROUND(musasim::add_to_odd(product, MUSASIM_WIDEN(c)));
}
inline MUSASIM_PAIR __hfma2(MUSASIM_PAIR a, MUSASIM_PAIR b, MUSASIM_PAIR c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}

namespace musasim {
// Limits to 0 .. 1, with 0 for NaN.
inline MUSASIM_SCALAR saturated(MUSASIM_SCALAR a) {
  const float value = MUSASIM_WIDEN(a);
  return MUSASIM_ROUND(value > 1 ? 1.0 : value > 0 ? static_cast<double>(value) : 0.0);
}
inline MUSASIM_SCALAR not_negative(MUSASIM_SCALAR a) { return MUSASIM_WIDEN(a) < 0 ? MUSASIM_ROUND(0.0) : a; }
}  // namespace musasim

inline MUSASIM_SCALAR __hadd_sat(MUSASIM_SCALAR a, MUSASIM_SCALAR b) { return musasim::saturated(__hadd(a, b)); }
inline MUSASIM_SCALAR __hsub_sat(MUSASIM_SCALAR a, MUSASIM_SCALAR b) { return musasim::saturated(__hsub(a, b)); }
inline MUSASIM_SCALAR __hmul_sat(MUSASIM_SCALAR a, MUSASIM_SCALAR b) { return musasim::saturated(__hmul(a, b)); }
inline MUSASIM_PAIR __hadd2_sat(MUSASIM_PAIR a, MUSASIM_PAIR b) { return {__hadd_sat(a.x, b.x), __hadd_sat(a.y, b.y)}; }
inline MUSASIM_PAIR __hsub2_sat(MUSASIM_PAIR a, MUSASIM_PAIR b) { return {__hsub_sat(a.x, b.x), __hsub_sat(a.y, b.y)}; }
inline MUSASIM_PAIR __hmul2_sat(MUSASIM_PAIR a, MUSASIM_PAIR b) { return {__hmul_sat(a.x, b.x), __hmul_sat(a.y, b.y)}; }
inline MUSASIM_SCALAR __hfma_sat(MUSASIM_SCALAR a, MUSASIM_SCALAR b, MUSASIM_SCALAR c) {
  return musasim::saturated(__hfma(a, b, c));
}
inline MUSASIM_SCALAR __hfma_relu(MUSASIM_SCALAR a, MUSASIM_SCALAR b, MUSASIM_SCALAR c) {
  return musasim::not_negative(__hfma(a, b, c));
}
inline MUSASIM_PAIR __hfma2_sat(MUSASIM_PAIR a, MUSASIM_PAIR b, MUSASIM_PAIR c) {
  return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)};
}
inline MUSASIM_PAIR __hfma2_relu(MUSASIM_PAIR a, MUSASIM_PAIR b, MUSASIM_PAIR c) {
  return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};
}
// a * b + c of complex numbers.
inline MUSASIM_PAIR __hcmadd(MUSASIM_PAIR a, MUSASIM_PAIR b, MUSASIM_PAIR c) {
  return {__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};
}

// Comparisons with a NaN: the plain ones are false, including !=, and those ending in u are true.
#define MUSASIM_COMPARISON(name, sign)                                                                         \
  inline bool __h##name(MUSASIM_SCALAR a, MUSASIM_SCALAR b) {                                                  \
    return !__hisnan(a) && !__hisnan(b) && MUSASIM_WIDEN(a) sign MUSASIM_WIDEN(b);                             \
  }                                                                                                            \
  inline bool __h##name##u(MUSASIM_SCALAR a, MUSASIM_SCALAR b) {                                               \
    return __hisnan(a) || __hisnan(b) || MUSASIM_WIDEN(a) sign MUSASIM_WIDEN(b);                               \
  }                                                                                                            \
  MUSASIM_COMPARISON_OF_PAIRS(name)                                                                            \
  MUSASIM_COMPARISON_OF_PAIRS(name##u)

#define MUSASIM_COMPARISON_OF_PAIRS(name)                                                                      \
  inline bool __hb##name##2(MUSASIM_PAIR a, MUSASIM_PAIR b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }  \
  inline MUSASIM_PAIR __h##name##2(MUSASIM_PAIR a, MUSASIM_PAIR b) {                                           \
    return {MUSASIM_ROUND(__h##name(a.x, b.x)), MUSASIM_ROUND(__h##name(a.y, b.y))};                           \
  }                                                                                                            \
  inline unsigned __h##name##2_mask(MUSASIM_PAIR a, MUSASIM_PAIR b) {                                          \
    return (__h##name(a.x, b.x) ? 0xffffu : 0) | (__h##name(a.y, b.y) ? 0xffff0000u : 0);                      \
  }

MUSASIM_COMPARISON(eq, ==)
MUSASIM_COMPARISON(ne, !=)
MUSASIM_COMPARISON(lt, <)
MUSASIM_COMPARISON(le, <=)
MUSASIM_COMPARISON(gt, >)
MUSASIM_COMPARISON(ge, >=)
#undef MUSASIM_COMPARISON
#undef MUSASIM_COMPARISON_OF_PAIRS

inline MUSASIM_PAIR __hisnan2(MUSASIM_PAIR a) { return {MUSASIM_ROUND(__hisnan(a.x)), MUSASIM_ROUND(__hisnan(a.y))}; }

// __hmax gives the number where the other one is NaN, __hmax_nan the NaN; and -0 counts as less than +0.
#define MUSASIM_EXTREME(name, compare, at_zero)                                                                \
  inline MUSASIM_SCALAR name(MUSASIM_SCALAR a, MUSASIM_SCALAR b) {                                             \
    if (__hisnan(a)) return __hisnan(b) ? MUSASIM_SCALAR::from_bits(0x7fff) : b;                               \
    if (__hisnan(b)) return a;                                                                                 \
    if (MUSASIM_WIDEN(a) == MUSASIM_WIDEN(b)) return MUSASIM_SCALAR::from_bits(a.bits() at_zero b.bits());     \
    return compare(a, b) ? a : b;                                                                              \
  }                                                                                                            \
  inline MUSASIM_SCALAR name##_nan(MUSASIM_SCALAR a, MUSASIM_SCALAR b) {                                       \
    return __hisnan(a) || __hisnan(b) ? MUSASIM_SCALAR::from_bits(0x7fff) : name(a, b);                        \
  }                                                                                                            \
  inline MUSASIM_PAIR name##2(MUSASIM_PAIR a, MUSASIM_PAIR b) { return {name(a.x, b.x), name(a.y, b.y)}; }     \
  inline MUSASIM_PAIR name##2_nan(MUSASIM_PAIR a, MUSASIM_PAIR b) {                                            \
    return {name##_nan(a.x, b.x), name##_nan(a.y, b.y)};                                                       \
  }

MUSASIM_EXTREME(__hmax, __hgt, &)
MUSASIM_EXTREME(__hmin, __hlt, |)
#undef MUSASIM_EXTREME

#define MUSASIM_FUNCTION(name, of_value)                                                                       \
  inline MUSASIM_SCALAR h##name(MUSASIM_SCALAR a) {                                                            \
    const double value = MUSASIM_WIDEN(a);                                                                     \
    return MUSASIM_ROUND(of_value);                                                                            \
  }                                                                                                            \
  inline MUSASIM_PAIR h2##name(MUSASIM_PAIR a) { return {h##name(a.x), h##name(a.y)}; }

MUSASIM_FUNCTION(sqrt, std::sqrt(value))
MUSASIM_FUNCTION(rsqrt, 1 / std::sqrt(value))
MUSASIM_FUNCTION(rcp, 1 / value)
MUSASIM_FUNCTION(log, std::log(value))
MUSASIM_FUNCTION(log2, std::log2(value))
MUSASIM_FUNCTION(log10, std::log10(value))
MUSASIM_FUNCTION(exp, std::exp(value))
MUSASIM_FUNCTION(exp2, std::exp2(value))
MUSASIM_FUNCTION(exp10, std::pow(10.0, value))
MUSASIM_FUNCTION(sin, std::sin(value))
MUSASIM_FUNCTION(cos, std::cos(value))
MUSASIM_FUNCTION(tanh, std::tanh(value))
MUSASIM_FUNCTION(ceil, std::ceil(value))
MUSASIM_FUNCTION(floor, std::floor(value))
MUSASIM_FUNCTION(trunc, std::trunc(value))
MUSASIM_FUNCTION(rint, std::nearbyint(value))
#undef MUSASIM_FUNCTION

inline MUSASIM_SCALAR htanh_approx(MUSASIM_SCALAR a) { return htanh(a); }
inline MUSASIM_PAIR h2tanh_approx(MUSASIM_PAIR a) { return h2tanh(a); }
