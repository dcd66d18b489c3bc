// Cooperative groups: the block, tiles of a warp, the lanes that are together at a place, and the grid of a cooperative launch.
//
// Absent, because MUSA is not known to have them: clusters, groups over several grids, tiles of more than a warp.
#pragma once

#include <cstring>
#include <type_traits>

#include "musasim/device_functions.h"

namespace cooperative_groups {

namespace details {

inline unsigned int product(dim3 extent) { return extent.x * extent.y * extent.z; }
inline unsigned int rank_in(uint3 index, dim3 extent) { return (index.z * extent.y + index.y) * extent.x + index.x; }
constexpr unsigned int lowest_lanes(unsigned int count) { return count >= 32 ? 0xffffffffu : (1u << count) - 1; }
// The lanes of the calling thread's warp that have a thread.
inline unsigned int lanes_of_warp() { return lowest_lanes(product(blockDim) - rank_in(threadIdx, blockDim) / 32 * 32); }

}  // namespace details

class thread_block {
 public:
  static void sync(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { __syncthreads(file, line); }
  static unsigned int thread_rank() { return details::rank_in(threadIdx, blockDim); }
  static unsigned int size() { return details::product(blockDim); }
  static unsigned int num_threads() { return size(); }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

class grid_group {
 public:
  // A launch that is not cooperative faults here.
  static void sync() { musasim_grid_barrier(); }
  static unsigned long long block_rank() { return details::rank_in(blockIdx, gridDim); }
  static unsigned long long num_blocks() { return details::product(gridDim); }
  static unsigned long long size() { return num_blocks() * details::product(blockDim); }
  static unsigned long long num_threads() { return size(); }
  static unsigned long long thread_rank() {
    return block_rank() * details::product(blockDim) + details::rank_in(threadIdx, blockDim);
  }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 group_dim() { return gridDim; }
  static dim3 block_index() { return blockIdx; }
};
inline grid_group this_grid() { return {}; }

// A whole block, or some lanes of a warp, ranked from the lowest. Which it is shows at run time, so its threads exchange nothing.
class thread_group {
 public:
  thread_group(const thread_block&) : whole_block_(true) {}
  unsigned int size() const { return whole_block_ ? thread_block::size() : static_cast<unsigned int>(__popc(lanes_)); }
  unsigned int num_threads() const { return size(); }
  unsigned int thread_rank() const {
    return whole_block_ ? thread_block::thread_rank() : static_cast<unsigned int>(__popc(lanes_ & ((1u << musasim_lane) - 1)));
  }
  void sync(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    if (whole_block_) return thread_block::sync(file, line);
    musasim_exchange(lanes_, nullptr, 0, "cooperative_groups::sync");
  }

  // The lanes of this group that are in the warp of the calling thread, for functions of this header.
  unsigned int lanes() const { return whole_block_ ? details::lanes_of_warp() : lanes_; }

 protected:
  explicit thread_group(unsigned int lanes) : lanes_(lanes) {}

 private:
  unsigned int lanes_ = 0;
  bool whole_block_ = false;
};

// A part of a group that was split, with its number. What its lanes exchange can have any type that may be copied byte by byte.
class coalesced_group : public thread_group {
 public:
  explicit coalesced_group(unsigned int lanes, unsigned int meta_rank = 0, unsigned int meta_size = 1)
      : thread_group(lanes), meta_rank_(meta_rank), meta_size_(meta_size) {}
  unsigned int meta_group_rank() const { return meta_rank_; }
  unsigned int meta_group_size() const { return meta_size_; }

  template <class T>
  T shfl(const T& value, int rank) const {
    return from(rank, value, "cooperative_groups::shfl");
  }
  template <class T>
  T shfl_up(const T& value, unsigned int delta) const {
    const int rank = static_cast<int>(thread_rank());
    return from(delta > thread_rank() ? rank : rank - static_cast<int>(delta), value, "cooperative_groups::shfl_up");
  }
  template <class T>
  T shfl_down(const T& value, unsigned int delta) const {
    const unsigned int rank = thread_rank();
    return from(static_cast<int>(delta >= size() - rank ? rank : rank + delta), value, "cooperative_groups::shfl_down");
  }
  template <class T>
  T shfl_xor(const T& value, unsigned int mask) const {
    const unsigned int rank = thread_rank(), other = rank ^ mask;
    return from(static_cast<int>(other >= size() ? rank : other), value, "cooperative_groups::shfl_xor");
  }
  int any(int predicate) const { return ballot(predicate) != 0; }
  int all(int predicate) const { return ballot(!predicate) == 0; }

  // Bit by bit, for the ranks of the group.
  unsigned int ballot(int predicate) const {
    const auto votes = musasim::from_lanes(lanes(), predicate, "cooperative_groups::ballot");
    return ranks_of(musasim::lanes_where(votes.lanes, [&](int lane) { return votes[lane] != 0; }));
  }
  template <class T>
  unsigned int match_any(const T& value) const {
    return ranks_of(equal_lanes(value, "cooperative_groups::match_any"));
  }
  template <class T>
  unsigned int match_all(const T& value, int& all_equal) const {
    const unsigned int equal = ranks_of(equal_lanes(value, "cooperative_groups::match_all"));
    all_equal = equal == details::lowest_lanes(size());
    return all_equal ? equal : 0;
  }

 private:
  template <class T>
  unsigned int equal_lanes(const T& value, const char* what) const {
    const auto values = musasim::from_lanes(lanes(), value, what);
    return musasim::lanes_where(values.lanes, [&](int lane) { return std::memcmp(&values[lane], &value, sizeof value) == 0; });
  }

  template <class T>
  T from(int rank, const T& value, const char* what) const {
    const int ranks = static_cast<int>(size());
    const unsigned int lane = __fns(lanes(), 0, (rank % ranks + ranks) % ranks + 1);
    return musasim::from_lane(lanes(), value, static_cast<int>(lane), what);
  }
  unsigned int ranks_of(unsigned int lanes) const {
    unsigned int result = 0, rank = 0;
    for (unsigned int lane = 0; lane < 32; ++lane) {
      if (this->lanes() >> lane & 1) result |= (lanes >> lane & 1) << rank++;
    }
    return result;
  }

  unsigned int meta_rank_, meta_size_;
};

inline coalesced_group coalesced_threads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return coalesced_group(musasim_converge(file, line));
}

template <unsigned int Size, class Parent = void>
class thread_block_tile;

template <unsigned int Size>
class thread_block_tile<Size, void> : public coalesced_group {
  static_assert(Size > 0 && (Size & (Size - 1)) == 0, "a tile's size is a power of two");
  static_assert(Size <= MUSASIM_WARP_SIZE, "a tile of more than a warp is absent from the simulated toolkit");

 public:
  thread_block_tile(unsigned int meta_rank, unsigned int meta_size)
      : coalesced_group(details::lowest_lanes(Size) << (musasim_lane & ~(Size - 1)), meta_rank, meta_size) {}
  static constexpr unsigned int size() { return Size; }
  static constexpr unsigned int num_threads() { return Size; }
  static unsigned int thread_rank() { return musasim_lane & (Size - 1); }
};

template <unsigned int Size, class Parent>
class thread_block_tile : public thread_block_tile<Size, void> {
 public:
  using thread_block_tile<Size, void>::thread_block_tile;
};

template <unsigned int Size>
thread_block_tile<Size, thread_block> tiled_partition(const thread_block& block) {
  return {block.thread_rank() / Size, (block.size() + Size - 1) / Size};
}
template <unsigned int Size, unsigned int ParentSize, class GrandParent>
thread_block_tile<Size, thread_block_tile<ParentSize, GrandParent>> tiled_partition(
    const thread_block_tile<ParentSize, GrandParent>& parent) {
  static_assert(Size <= ParentSize, "a part is not larger than the whole");
  return {parent.thread_rank() / Size, ParentSize / Size};
}

namespace details {

// The lanes of `group` whose rank in their warp, divided by `size`, is that of the calling thread.
inline coalesced_group nth_part(const thread_group& group, unsigned int size) {
  const unsigned int own = static_cast<unsigned int>(__popc(group.lanes() & lowest_lanes(musasim_lane))) / size;
  unsigned int lanes = 0, rank = 0;
  for (unsigned int lane = 0; lane < 32; ++lane) {
    if (group.lanes() >> lane & 1) lanes |= (rank++ / size == own ? 1u : 0u) << lane;
  }
  return coalesced_group(lanes, group.thread_rank() / size, (group.size() + size - 1) / size);
}

}  // namespace details

inline coalesced_group tiled_partition(const coalesced_group& group, unsigned int size) { return details::nth_part(group, size); }
inline thread_group tiled_partition(const thread_group& group, unsigned int size) {
  if (size == 0 || size > 32 || (size & (size - 1)) != 0) {
    musasim_fault(musasim::launch_failure, "cooperative_groups::tiled_partition: the size is not a power of two up to 32");
  }
  return details::nth_part(group, size);
}

// The lanes with the same label. The parts are ranked by their lowest lanes.
template <class Label>
coalesced_group labeled_partition(const coalesced_group& group, Label label) {
  const auto labels = musasim::from_lanes(group.lanes(), label, "cooperative_groups::labeled_partition");
  const auto with_label_of = [&](int lane) {
    return musasim::lanes_where(labels.lanes, [&](int other) { return labels[other] == labels[lane]; });
  };
  const unsigned int own = with_label_of(static_cast<int>(musasim_lane));
  const unsigned int firsts =
      musasim::lanes_where(labels.lanes, [&](int lane) { return __ffs(static_cast<int>(with_label_of(lane))) == lane + 1; });
  const unsigned int before = (own & -own) - 1;
  return coalesced_group(own, static_cast<unsigned int>(__popc(firsts & before)), static_cast<unsigned int>(__popc(firsts)));
}
inline coalesced_group binary_partition(const coalesced_group& group, bool predicate) {
  return labeled_partition(group, predicate ? 0 : 1);
}

template <class Group>
void sync(const Group& group) {
  group.sync();
}
inline void sync(const thread_block&, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  __syncthreads(file, line);
}
template <class Group>
auto thread_rank(const Group& group) -> decltype(group.thread_rank()) {
  return group.thread_rank();
}
template <class Group>
auto group_size(const Group& group) -> decltype(group.size()) {
  return group.size();
}

}  // namespace cooperative_groups
