// The position of a thread, and shuffles of values of any size.
#pragma once

#include "cub/util_type.cuh"
#include "musasim/device_functions.h"

CUB_NAMESPACE_BEGIN

inline unsigned int LaneId() { return musasim_lane; }
inline unsigned int WarpId() { return musasim_warp; }
inline int RowMajorTid(int block_dim_x, int block_dim_y, int) {
  return static_cast<int>((threadIdx.z * static_cast<unsigned>(block_dim_y) + threadIdx.y) * static_cast<unsigned>(block_dim_x) + threadIdx.x);
}
inline unsigned int LaneMaskLt() { return (1u << musasim_lane) - 1; }
inline unsigned int LaneMaskGe() { return ~LaneMaskLt(); }
inline unsigned int LaneMaskLe() { return LaneMaskLt() | 1u << musasim_lane; }
inline unsigned int LaneMaskGt() { return ~LaneMaskLe(); }

inline void CTA_SYNC() { __syncthreads(); }
inline int CTA_SYNC_AND(int predicate) { return __syncthreads_and(predicate); }
inline int CTA_SYNC_OR(int predicate) { return __syncthreads_or(predicate); }
inline void WARP_SYNC(unsigned int mask) { __syncwarp(mask); }
inline int WARP_ANY(int predicate, unsigned int mask) { return __any_sync(mask, predicate); }
inline int WARP_ALL(int predicate, unsigned int mask) { return __all_sync(mask, predicate); }
inline int WARP_BALLOT(int predicate, unsigned int mask) { return static_cast<int>(__ballot_sync(mask, predicate)); }

// The lanes of the `warp_id`-th logical warp.
template <int LOGICAL_WARP_THREADS, int = 0>
inline unsigned int WarpMask(unsigned int warp_id) {
  const unsigned int mask = 0xffffffffu >> (32 - LOGICAL_WARP_THREADS);
  return PowerOfTwo<LOGICAL_WARP_THREADS>::VALUE && LOGICAL_WARP_THREADS < 32 ? mask << warp_id * LOGICAL_WARP_THREADS : mask;
}

// The value of the lane `offset` below, or the own value if that lane is before first_thread of the logical warp.
template <int LOGICAL_WARP_THREADS, class T>
inline T ShuffleUp(const T& input, int offset, int first_thread, unsigned int mask) {
  const int lane = static_cast<int>(musasim_lane), first = lane / LOGICAL_WARP_THREADS * LOGICAL_WARP_THREADS + first_thread;
  return musasim::from_lane(mask, input, lane - offset < first ? lane : lane - offset, "cub::ShuffleUp");
}
template <int LOGICAL_WARP_THREADS, class T>
inline T ShuffleDown(const T& input, int offset, int last_thread, unsigned int mask) {
  const int lane = static_cast<int>(musasim_lane), last = lane / LOGICAL_WARP_THREADS * LOGICAL_WARP_THREADS + last_thread;
  return musasim::from_lane(mask, input, lane + offset > last ? lane : lane + offset, "cub::ShuffleDown");
}
template <int LOGICAL_WARP_THREADS, class T>
inline T ShuffleIndex(const T& input, int source, unsigned int mask) {
  const int first = static_cast<int>(musasim_lane) / LOGICAL_WARP_THREADS * LOGICAL_WARP_THREADS;
  return musasim::from_lane(mask, input, first + source % LOGICAL_WARP_THREADS, "cub::ShuffleIndex");
}

CUB_NAMESPACE_END
