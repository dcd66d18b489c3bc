// cooperative_groups::reduce over a tile or a coalesced group, and its operators.
#pragma once

#include "cooperative_groups.h"

namespace cooperative_groups {

#define MUSASIM_OPERATOR(name, of_a_and_b)                         \
  template <class T>                                               \
  struct name {                                                    \
    T operator()(T a, T b) const { return of_a_and_b; }            \
  };
MUSASIM_OPERATOR(plus, a + b)
MUSASIM_OPERATOR(less, b < a ? b : a)
MUSASIM_OPERATOR(greater, a < b ? b : a)
MUSASIM_OPERATOR(bit_and, a & b)
MUSASIM_OPERATOR(bit_or, a | b)
MUSASIM_OPERATOR(bit_xor, a ^ b)
#undef MUSASIM_OPERATOR

// Every thread of the group gets the result.
template <class T, class Operator>
T reduce(const coalesced_group& group, const T& value, Operator&& combine) {
  const auto values = musasim::from_lanes(group.lanes(), value, "cooperative_groups::reduce");
  const int first = __ffs(static_cast<int>(values.lanes)) - 1;
  T result = values[first];
  for (int lane = first + 1; lane < musasim::warp_size; ++lane) {
    if (values.has(lane)) result = combine(result, values[lane]);
  }
  return result;
}

}  // namespace cooperative_groups
