// cooperative_groups::inclusive_scan and exclusive_scan over a tile or a coalesced group.
#pragma once

#include "cooperative_groups/reduce.h"

namespace cooperative_groups {

template <class T, class Operator>
T inclusive_scan(const coalesced_group& group, const T& value, Operator&& combine) {
  const auto values = musasim::from_lanes(group.lanes(), value, "cooperative_groups::inclusive_scan");
  const int first = __ffs(static_cast<int>(values.lanes)) - 1;
  T result = values[first];
  for (int lane = first + 1; lane <= static_cast<int>(musasim_lane); ++lane) {
    if (values.has(lane)) result = combine(result, values[lane]);
  }
  return result;
}
template <class T>
T inclusive_scan(const coalesced_group& group, const T& value) {
  return inclusive_scan(group, value, plus<T>());
}

// The first thread gets T().
template <class T, class Operator>
T exclusive_scan(const coalesced_group& group, const T& value, Operator&& combine) {
  const T inclusive = inclusive_scan(group, value, combine);
  const T before = group.shfl_up(inclusive, 1);
  return group.thread_rank() == 0 ? T() : before;
}
template <class T>
T exclusive_scan(const coalesced_group& group, const T& value) {
  return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups
