// The operators of __half and __mt_bfloat16, in the terms of small_float_pair.h. An extension may switch them off by a macro of
// the toolkit's and bring its own.

#ifndef MUSASIM_NO_OPERATORS
#define MUSASIM_OPERATOR(sign, function)                                                                                \
  inline MUSASIM_SCALAR operator sign(const MUSASIM_SCALAR& a, const MUSASIM_SCALAR& b) { return function(a, b); }      \
  inline MUSASIM_SCALAR& operator sign##=(MUSASIM_SCALAR& a, const MUSASIM_SCALAR& b) { return a = function(a, b); }

MUSASIM_OPERATOR(+, __hadd)
MUSASIM_OPERATOR(-, __hsub)
MUSASIM_OPERATOR(*, __hmul)
MUSASIM_OPERATOR(/, __hdiv)
#undef MUSASIM_OPERATOR

inline MUSASIM_SCALAR operator+(const MUSASIM_SCALAR& a) { return a; }
inline MUSASIM_SCALAR operator-(const MUSASIM_SCALAR& a) { return __hneg(a); }
inline MUSASIM_SCALAR& operator++(MUSASIM_SCALAR& a) { return a = __hadd(a, MUSASIM_ROUND(1.0)); }
inline MUSASIM_SCALAR& operator--(MUSASIM_SCALAR& a) { return a = __hsub(a, MUSASIM_ROUND(1.0)); }
inline MUSASIM_SCALAR operator++(MUSASIM_SCALAR& a, int) {
  const MUSASIM_SCALAR before = a;
  ++a;
  return before;
}
inline MUSASIM_SCALAR operator--(MUSASIM_SCALAR& a, int) {
  const MUSASIM_SCALAR before = a;
  --a;
  return before;
}
inline bool operator==(const MUSASIM_SCALAR& a, const MUSASIM_SCALAR& b) { return __heq(a, b); }
inline bool operator!=(const MUSASIM_SCALAR& a, const MUSASIM_SCALAR& b) { return __hneu(a, b); }
inline bool operator<(const MUSASIM_SCALAR& a, const MUSASIM_SCALAR& b) { return __hlt(a, b); }
inline bool operator<=(const MUSASIM_SCALAR& a, const MUSASIM_SCALAR& b) { return __hle(a, b); }
inline bool operator>(const MUSASIM_SCALAR& a, const MUSASIM_SCALAR& b) { return __hgt(a, b); }
inline bool operator>=(const MUSASIM_SCALAR& a, const MUSASIM_SCALAR& b) { return __hge(a, b); }
#endif

#ifndef MUSASIM_NO_PAIR_OPERATORS
#define MUSASIM_OPERATOR(sign, function)                                                                        \
  inline MUSASIM_PAIR operator sign(const MUSASIM_PAIR& a, const MUSASIM_PAIR& b) { return function(a, b); }    \
  inline MUSASIM_PAIR& operator sign##=(MUSASIM_PAIR& a, const MUSASIM_PAIR& b) { return a = function(a, b); }

MUSASIM_OPERATOR(+, __hadd2)
MUSASIM_OPERATOR(-, __hsub2)
MUSASIM_OPERATOR(*, __hmul2)
MUSASIM_OPERATOR(/, __h2div)
#undef MUSASIM_OPERATOR

inline MUSASIM_PAIR operator+(const MUSASIM_PAIR& a) { return a; }
inline MUSASIM_PAIR operator-(const MUSASIM_PAIR& a) { return __hneg2(a); }
inline bool operator==(const MUSASIM_PAIR& a, const MUSASIM_PAIR& b) { return __hbeq2(a, b); }
inline bool operator!=(const MUSASIM_PAIR& a, const MUSASIM_PAIR& b) { return __hbneu2(a, b); }
inline bool operator<(const MUSASIM_PAIR& a, const MUSASIM_PAIR& b) { return __hblt2(a, b); }
inline bool operator<=(const MUSASIM_PAIR& a, const MUSASIM_PAIR& b) { return __hble2(a, b); }
inline bool operator>(const MUSASIM_PAIR& a, const MUSASIM_PAIR& b) { return __hbgt2(a, b); }
inline bool operator>=(const MUSASIM_PAIR& a, const MUSASIM_PAIR& b) { return __hbge2(a, b); }
#endif
