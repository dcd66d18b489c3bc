// Arithmetic on the two halves or the four bytes of a word: __vadd4, __vmaxs2, __vcmpeq4 ...
#pragma once

#include <cstdint>
#include <limits>

namespace musasim {

// The word whose parts are the results of `function` for the parts of a and b, as numbers of type Part.
template <class Part, class Function>
inline unsigned int by_parts(unsigned int a, unsigned int b, Function function) {
  constexpr int bits = static_cast<int>(sizeof(Part)) * 8;
  constexpr unsigned int mask = (1u << bits) - 1;
  unsigned int result = 0;
  for (int shift = 0; shift < 32; shift += bits) {
    const int value = function(static_cast<Part>(a >> shift & mask), static_cast<Part>(b >> shift & mask));
    result |= (static_cast<unsigned int>(value) & mask) << shift;
  }
  return result;
}

template <class Part>
inline int clamped(int value) {
  constexpr int low = std::numeric_limits<Part>::min(), high = std::numeric_limits<Part>::max();
  return value < low ? low : value > high ? high : value;
}

}  // namespace musasim

#define MUSASIM_PACKED(name, part, of_a_and_b)                                                  \
  static inline unsigned int name(unsigned int first, unsigned int second) {                    \
    return musasim::by_parts<part>(first, second, [](int a, int b) -> int { return of_a_and_b; }); \
  }
#define MUSASIM_PACKED_SIZES(name, part, of_a_and_b)         \
  MUSASIM_PACKED(name##2, part##16_t, of_a_and_b)            \
  MUSASIM_PACKED(name##4, part##8_t, of_a_and_b)
#define MUSASIM_PACKED_SATURATED(name, part, of_a_and_b)                              \
  MUSASIM_PACKED(name##2, part##16_t, musasim::clamped<part##16_t>(of_a_and_b))       \
  MUSASIM_PACKED(name##4, part##8_t, musasim::clamped<part##8_t>(of_a_and_b))
#define MUSASIM_PACKED_COMPARISON(name, part, sign)                      \
  MUSASIM_PACKED_SIZES(__vcmp##name, part, a sign b ? -1 : 0)            \
  MUSASIM_PACKED_SIZES(__vset##name, part, a sign b ? 1 : 0)

MUSASIM_PACKED_SIZES(__vadd, int, a + b)
MUSASIM_PACKED_SIZES(__vsub, int, a - b)
MUSASIM_PACKED_SATURATED(__vaddss, int, a + b)
MUSASIM_PACKED_SATURATED(__vaddus, uint, a + b)
MUSASIM_PACKED_SATURATED(__vsubss, int, a - b)
MUSASIM_PACKED_SATURATED(__vsubus, uint, a - b)
MUSASIM_PACKED_SIZES(__vabsdiffs, int, a > b ? a - b : b - a)
MUSASIM_PACKED_SIZES(__vabsdiffu, uint, a > b ? a - b : b - a)
MUSASIM_PACKED_SIZES(__vmaxs, int, a > b ? a : b)
MUSASIM_PACKED_SIZES(__vmaxu, uint, a > b ? a : b)
MUSASIM_PACKED_SIZES(__vmins, int, a < b ? a : b)
MUSASIM_PACKED_SIZES(__vminu, uint, a < b ? a : b)
MUSASIM_PACKED_SIZES(__vhaddu, uint, (a + b) >> 1)
MUSASIM_PACKED_SIZES(__vavgu, uint, (a + b + 1) >> 1)
MUSASIM_PACKED_COMPARISON(eq, int, ==)
MUSASIM_PACKED_COMPARISON(ne, int, !=)
MUSASIM_PACKED_COMPARISON(lts, int, <)
MUSASIM_PACKED_COMPARISON(les, int, <=)
MUSASIM_PACKED_COMPARISON(gts, int, >)
MUSASIM_PACKED_COMPARISON(ges, int, >=)
MUSASIM_PACKED_COMPARISON(ltu, uint, <)
MUSASIM_PACKED_COMPARISON(leu, uint, <=)
MUSASIM_PACKED_COMPARISON(gtu, uint, >)
MUSASIM_PACKED_COMPARISON(geu, uint, >=)
#undef MUSASIM_PACKED
#undef MUSASIM_PACKED_SIZES
#undef MUSASIM_PACKED_SATURATED
#undef MUSASIM_PACKED_COMPARISON

static inline unsigned int __vneg2(unsigned int a) { return __vsub2(0, a); }
static inline unsigned int __vneg4(unsigned int a) { return __vsub4(0, a); }
static inline unsigned int __vabs2(unsigned int a) { return __vabsdiffs2(a, 0); }
static inline unsigned int __vabs4(unsigned int a) { return __vabsdiffs4(a, 0); }
static inline unsigned int __vabsss2(unsigned int a) { return __vmaxs2(a, __vsubss2(0, a)); }
static inline unsigned int __vabsss4(unsigned int a) { return __vmaxs4(a, __vsubss4(0, a)); }
