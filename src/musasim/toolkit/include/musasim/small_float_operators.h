// The operators of __half, __mt_bfloat16 and their pairs, included within the class MUSASIM_OPERAND. They are friends that are found
// only for operands of that class. So c10::Half, which converts to __half as well as to float, is compared as a float.
//   MUSASIM_FUNCTION(name)    __hadd or __hadd2, from hadd
//   MUSASIM_COMPARE(name)     __heq or __hbeq2, from eq

#define MUSASIM_OPERATOR(sign, function)                                                              \
  friend MUSASIM_OPERAND operator sign(const MUSASIM_OPERAND& a, const MUSASIM_OPERAND& b) {          \
    return function(a, b);                                                                            \
  }                                                                                                   \
  friend MUSASIM_OPERAND& operator sign##=(MUSASIM_OPERAND& a, const MUSASIM_OPERAND& b) {            \
    return a = function(a, b);                                                                        \
  }
#define MUSASIM_COMPARISON(sign, function)                                                            \
  friend bool operator sign(const MUSASIM_OPERAND& a, const MUSASIM_OPERAND& b) { return function(a, b); }

MUSASIM_OPERATOR(+, MUSASIM_FUNCTION(__hadd))
MUSASIM_OPERATOR(-, MUSASIM_FUNCTION(__hsub))
MUSASIM_OPERATOR(*, MUSASIM_FUNCTION(__hmul))
MUSASIM_OPERATOR(/, MUSASIM_DIVIDE)
friend MUSASIM_OPERAND operator+(const MUSASIM_OPERAND& a) { return a; }
friend MUSASIM_OPERAND operator-(const MUSASIM_OPERAND& a) { return MUSASIM_FUNCTION(__hneg)(a); }
MUSASIM_COMPARISON(==, MUSASIM_COMPARE(eq))
MUSASIM_COMPARISON(!=, MUSASIM_COMPARE(neu))
MUSASIM_COMPARISON(<, MUSASIM_COMPARE(lt))
MUSASIM_COMPARISON(<=, MUSASIM_COMPARE(le))
MUSASIM_COMPARISON(>, MUSASIM_COMPARE(gt))
MUSASIM_COMPARISON(>=, MUSASIM_COMPARE(ge))

#undef MUSASIM_OPERATOR
#undef MUSASIM_COMPARISON
#undef MUSASIM_OPERAND
#undef MUSASIM_FUNCTION
#undef MUSASIM_COMPARE
#undef MUSASIM_DIVIDE
