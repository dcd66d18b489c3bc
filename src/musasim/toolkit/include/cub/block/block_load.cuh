// cub::BlockLoad and cub::LoadDirect...: load a tile of the input into each thread's items. All ways of loading give the same
// items, except BLOCK_LOAD_STRIPED, whose items are one block apart.
#pragma once

#include "cub/block/block_exchange.cuh"
#include "cub/block/block_reduce.cuh"

CUB_NAMESPACE_BEGIN

enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED,
};

namespace detail {
// As large as the real one, because kernels rely on its size.
template <class T, int Items>
struct TileStorage {
  alignas(T) unsigned char bytes[sizeof(T) * Items];
};
}  // namespace detail

template <class T, int ITEMS, class Iterator>
void LoadDirectBlocked(int thread, Iterator from, T (&items)[ITEMS]) {
  for (int i = 0; i < ITEMS; ++i) items[i] = from[thread * ITEMS + i];
}
template <class T, int ITEMS, class Iterator>
void LoadDirectBlocked(int thread, Iterator from, T (&items)[ITEMS], int valid_items) {
  for (int i = 0; i < ITEMS; ++i) {
    if (thread * ITEMS + i < valid_items) items[i] = from[thread * ITEMS + i];
  }
}
template <class T, class Default, int ITEMS, class Iterator>
void LoadDirectBlocked(int thread, Iterator from, T (&items)[ITEMS], int valid_items, Default otherwise) {
  for (int i = 0; i < ITEMS; ++i) items[i] = otherwise;
  LoadDirectBlocked(thread, from, items, valid_items);
}
template <int BLOCK_THREADS, class T, int ITEMS, class Iterator>
void LoadDirectStriped(int thread, Iterator from, T (&items)[ITEMS]) {
  for (int i = 0; i < ITEMS; ++i) items[i] = from[thread + i * BLOCK_THREADS];
}
template <int BLOCK_THREADS, class T, int ITEMS, class Iterator>
void LoadDirectStriped(int thread, Iterator from, T (&items)[ITEMS], int valid_items) {
  for (int i = 0; i < ITEMS; ++i) {
    if (thread + i * BLOCK_THREADS < valid_items) items[i] = from[thread + i * BLOCK_THREADS];
  }
}
template <int BLOCK_THREADS, class T, class Default, int ITEMS, class Iterator>
void LoadDirectStriped(int thread, Iterator from, T (&items)[ITEMS], int valid_items, Default otherwise) {
  for (int i = 0; i < ITEMS; ++i) items[i] = otherwise;
  LoadDirectStriped<BLOCK_THREADS>(thread, from, items, valid_items);
}
template <class T, int ITEMS>
void LoadDirectBlockedVectorized(int thread, T* from, T (&items)[ITEMS]) {
  LoadDirectBlocked(thread, from, items);
}

template <class T, int BLOCK_DIM_X, int ITEMS_PER_THREAD, BlockLoadAlgorithm ALGORITHM = BLOCK_LOAD_DIRECT, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1, int = 0>
class BlockLoad {
  using Block = detail::Block<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>;
  static constexpr bool transposes = ALGORITHM >= BLOCK_LOAD_TRANSPOSE;
  static_assert(
      ALGORITHM < BLOCK_LOAD_WARP_TRANSPOSE || Block::threads % 32 == 0,
      "a block that transposes by warps has whole warps");

 public:
  struct TempStorage : detail::TileStorage<std::conditional_t<transposes, T, char>, transposes ? Block::threads * ITEMS_PER_THREAD : 1> {
  };
  BlockLoad() = default;
  explicit BlockLoad(TempStorage&) {}

  // (from, items), (from, items, valid_items) and (from, items, valid_items, otherwise).
  template <class Iterator, class... Bounds>
  void Load(Iterator from, T (&items)[ITEMS_PER_THREAD], Bounds... bounds) {
    if constexpr (ALGORITHM == BLOCK_LOAD_STRIPED) {
      LoadDirectStriped<Block::threads>(Block::thread(), from, items, bounds...);
    } else {
      LoadDirectBlocked(Block::thread(), from, items, bounds...);
    }
  }
};

CUB_NAMESPACE_END
