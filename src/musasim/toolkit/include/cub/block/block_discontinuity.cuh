// cub::BlockDiscontinuity: which items differ from their neighbours, by a comparison of the caller's.
#pragma once

#include <type_traits>

#include "cub/block/block_reduce.cuh"

CUB_NAMESPACE_BEGIN

namespace detail {

// A comparison may take the place of the second item too.
template <class Differ, class T>
bool differs(Differ& differ, const T& first, const T& second, int place) {
  if constexpr (std::is_invocable_v<Differ&, const T&, const T&, int>) {
    return differ(first, second, place);
  } else {
    return differ(first, second);
  }
}

} // namespace detail

template <class T, int BLOCK_DIM_X, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int = 0>
class BlockDiscontinuity {
  using Block = detail::Block<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>;
  struct Ends {
    T first[Block::threads];
    T last[Block::threads];
  };

 public:
  struct TempStorage : Uninitialized<Ends> {};
  BlockDiscontinuity() : ends_(detail::private_storage<TempStorage>().Alias()) {}
  explicit BlockDiscontinuity(TempStorage& storage) : ends_(storage.Alias()) {}

  // The first item of the block counts as different, unless there is one before it.
  template <int ITEMS, class Flag, class Differ>
  void FlagHeads(Flag (&heads)[ITEMS], T (&input)[ITEMS], Differ differ) {
    exchange(input);
    set_heads(heads, input, differ, nullptr);
  }
  template <int ITEMS, class Flag, class Differ>
  void FlagHeads(Flag (&heads)[ITEMS], T (&input)[ITEMS], Differ differ, T before) {
    exchange(input);
    set_heads(heads, input, differ, &before);
  }

  // The last one likewise, unless there is one after it.
  template <int ITEMS, class Flag, class Differ>
  void FlagTails(Flag (&tails)[ITEMS], T (&input)[ITEMS], Differ differ) {
    exchange(input);
    set_tails(tails, input, differ, nullptr);
  }
  template <int ITEMS, class Flag, class Differ>
  void FlagTails(Flag (&tails)[ITEMS], T (&input)[ITEMS], Differ differ, T after) {
    exchange(input);
    set_tails(tails, input, differ, &after);
  }

  template <int ITEMS, class Head, class Tail, class Differ>
  void FlagHeadsAndTails(Head (&heads)[ITEMS], Tail (&tails)[ITEMS], T (&input)[ITEMS], Differ differ) {
    exchange(input);
    set_heads(heads, input, differ, nullptr);
    set_tails(tails, input, differ, nullptr);
  }
  template <int ITEMS, class Head, class Tail, class Differ>
  void FlagHeadsAndTails(Head (&heads)[ITEMS], T before, Tail (&tails)[ITEMS], T after, T (&input)[ITEMS], Differ differ) {
    exchange(input);
    set_heads(heads, input, differ, &before);
    set_tails(tails, input, differ, &after);
  }

 private:
  template <int ITEMS>
  void exchange(T (&input)[ITEMS]) {
    ends_.first[Block::thread()] = input[0];
    ends_.last[Block::thread()] = input[ITEMS - 1];
    __syncthreads();
  }

  template <int ITEMS, class Flag, class Differ>
  void set_heads(Flag (&heads)[ITEMS], T (&input)[ITEMS], Differ& differ, const T* before) {
    const int rank = Block::thread();
    for (int i = 0; i < ITEMS; ++i) {
      const T* previous = i > 0 ? &input[i - 1] : rank > 0 ? &ends_.last[rank - 1] : before;
      heads[i] = previous == nullptr ? 1 : detail::differs(differ, *previous, input[i], rank * ITEMS + i);
    }
  }

  template <int ITEMS, class Flag, class Differ>
  void set_tails(Flag (&tails)[ITEMS], T (&input)[ITEMS], Differ& differ, const T* after) {
    const int rank = Block::thread();
    for (int i = 0; i < ITEMS; ++i) {
      const T* next = i < ITEMS - 1 ? &input[i + 1] : rank < Block::threads - 1 ? &ends_.first[rank + 1] : after;
      tails[i] = next == nullptr ? 1 : detail::differs(differ, input[i], *next, rank * ITEMS + i + 1);
    }
  }

  Ends& ends_;
};

CUB_NAMESPACE_END
