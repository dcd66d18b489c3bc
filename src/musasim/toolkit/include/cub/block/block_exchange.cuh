// cub::BlockExchange: moves items between threads, from one arrangement to another.
#pragma once

#include "cub/block/block_reduce.cuh"

CUB_NAMESPACE_BEGIN

template <class T, int BLOCK_DIM_X, int ITEMS_PER_THREAD, bool WARP_TIME_SLICING = false, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1,
          int = 0>
class BlockExchange {
  using Block = detail::Block<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>;
  static constexpr int ITEMS = ITEMS_PER_THREAD;
  struct Tile {
    T items[Block::threads * ITEMS];
  };

 public:
  struct TempStorage : Uninitialized<Tile> {};
  BlockExchange() : tile_(detail::private_storage<TempStorage>().Alias()) {}
  explicit BlockExchange(TempStorage& storage) : tile_(storage.Alias()) {}

#define MUSASIM_EXCHANGE(name, from, to)                                         \
  template <class Out>                                                           \
  void name(const T (&input)[ITEMS], Out (&output)[ITEMS]) {                     \
    exchange(input, output, [](int i) { return from(i); }, [](int i) { return to(i); }); \
  }                                                                              \
  void name(T (&items)[ITEMS]) { name(items, items); }
  MUSASIM_EXCHANGE(BlockedToStriped, blocked, striped)
  MUSASIM_EXCHANGE(StripedToBlocked, striped, blocked)
  MUSASIM_EXCHANGE(BlockedToWarpStriped, blocked, warp_striped)
  MUSASIM_EXCHANGE(WarpStripedToBlocked, warp_striped, blocked)
#undef MUSASIM_EXCHANGE

  // Moves each item to the place that its rank gives.
  template <class Out, class Offset>
  void ScatterToBlocked(const T (&input)[ITEMS], Out (&output)[ITEMS], Offset (&ranks)[ITEMS]) {
    exchange(input, output, [&](int i) { return static_cast<int>(ranks[i]); }, [](int i) { return blocked(i); });
  }
  template <class Out, class Offset>
  void ScatterToStriped(const T (&input)[ITEMS], Out (&output)[ITEMS], Offset (&ranks)[ITEMS]) {
    exchange(input, output, [&](int i) { return static_cast<int>(ranks[i]); }, [](int i) { return striped(i); });
  }
  template <class Offset>
  void ScatterToBlocked(T (&items)[ITEMS], Offset (&ranks)[ITEMS]) {
    ScatterToBlocked(items, items, ranks);
  }
  template <class Offset>
  void ScatterToStriped(T (&items)[ITEMS], Offset (&ranks)[ITEMS]) {
    ScatterToStriped(items, items, ranks);
  }

 private:
  static int blocked(int i) { return Block::thread() * ITEMS + i; }
  static int striped(int i) { return i * Block::threads + Block::thread(); }
  static int warp_striped(int i) {
    const int warp = Block::warp();
    return warp * 32 * ITEMS + i * Block::threads_of_warp(warp) + Block::thread() % 32;
  }
  template <class Out, class From, class To>
  void exchange(const T (&input)[ITEMS], Out (&output)[ITEMS], From from, To to) {
    for (int i = 0; i < ITEMS; ++i) tile_.items[from(i)] = input[i];
    __syncthreads();
    for (int i = 0; i < ITEMS; ++i) output[i] = tile_.items[to(i)];
  }

  Tile& tile_;
};

CUB_NAMESPACE_END
