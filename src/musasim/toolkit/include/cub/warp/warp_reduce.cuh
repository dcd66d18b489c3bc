// cub::WarpReduce: lane 0 of each logical warp gets the result.
#pragma once

#include "cub/thread/thread_operators.cuh"
#include "cub/util_ptx.cuh"

CUB_NAMESPACE_BEGIN

namespace detail {

// The lanes of this thread's logical warp.
template <int Threads>
inline unsigned int logical_warp() {
  static_assert(Threads > 0 && Threads <= 32, "a logical warp is part of a warp");
  const unsigned int first = musasim_lane / Threads * Threads;
  return (Threads == 32 ? 0xffffffffu : ((1u << (Threads & 31)) - 1)) << first;
}

// Combines the values of the first `valid` lanes from `first` on, in their order.
template <class T, class Operator>
inline T fold(const musasim::FromLanes<T>& values, int first, int valid, Operator combine) {
  T result = values[first];
  for (int lane = first + 1; lane < first + valid && lane < 32; ++lane) {
    if (values.has(lane)) result = combine(result, values[lane]);
  }
  return result;
}

}  // namespace detail

template <class T, int LOGICAL_WARP_THREADS = 32, int = 0>
class WarpReduce {
 public:
  struct TempStorage {
    unsigned char nothing;
  };
  explicit WarpReduce(TempStorage&) {}

  template <class Operator>
  T Reduce(T input, Operator combine) {
    return Reduce(input, combine, LOGICAL_WARP_THREADS);
  }
  template <class Operator>
  T Reduce(T input, Operator combine, int valid_items) {
    const auto values = musasim::from_lanes(detail::logical_warp<LOGICAL_WARP_THREADS>(), input, "cub::WarpReduce");
    const int lane = static_cast<int>(musasim_lane);
    return lane % LOGICAL_WARP_THREADS == 0 ? detail::fold(values, lane, valid_items, combine) : input;
  }
  T Sum(T input) { return Reduce(input, cub::Sum()); }
  T Sum(T input, int valid_items) { return Reduce(input, cub::Sum(), valid_items); }

  // Each segment begins where head_flag is set, or ends where tail_flag is; its first lane gets its result.
  template <class Operator, class Flag>
  T HeadSegmentedReduce(T input, Flag head_flag, Operator combine) {
    return segmented(input, head_flag ? 1 : 0, combine, true);
  }
  template <class Operator, class Flag>
  T TailSegmentedReduce(T input, Flag tail_flag, Operator combine) {
    return segmented(input, tail_flag ? 1 : 0, combine, false);
  }
  template <class Flag>
  T HeadSegmentedSum(T input, Flag head_flag) {
    return HeadSegmentedReduce(input, head_flag, cub::Sum());
  }
  template <class Flag>
  T TailSegmentedSum(T input, Flag tail_flag) {
    return TailSegmentedReduce(input, tail_flag, cub::Sum());
  }

 private:
  template <class Operator>
  T segmented(T input, int flag, Operator combine, bool heads) {
    const unsigned int members = detail::logical_warp<LOGICAL_WARP_THREADS>();
    const unsigned int flags = __ballot_sync(members, flag);
    const auto values = musasim::from_lanes(members, input, "cub::WarpReduce");
    const int lane = static_cast<int>(musasim_lane), end = lane / LOGICAL_WARP_THREADS * LOGICAL_WARP_THREADS + LOGICAL_WARP_THREADS;
    int last = lane;
    while (last + 1 < end && !(flags >> (heads ? last + 1 : last) & 1)) ++last;
    return detail::fold(values, lane, last - lane + 1, combine);
  }
};

CUB_NAMESPACE_END
