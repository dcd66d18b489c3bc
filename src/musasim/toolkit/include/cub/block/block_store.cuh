// cub::BlockStore and cub::StoreDirect...: store each thread's items in a tile of the output. Only BLOCK_STORE_STRIPED expects
// them one block apart.
#pragma once

#include "cub/block/block_load.cuh"

CUB_NAMESPACE_BEGIN

enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED,
};

template <class T, int ITEMS, class Iterator>
void StoreDirectBlocked(int thread, Iterator to, T (&items)[ITEMS]) {
  for (int i = 0; i < ITEMS; ++i) to[thread * ITEMS + i] = items[i];
}
template <class T, int ITEMS, class Iterator>
void StoreDirectBlocked(int thread, Iterator to, T (&items)[ITEMS], int valid_items) {
  for (int i = 0; i < ITEMS; ++i) {
    if (thread * ITEMS + i < valid_items) to[thread * ITEMS + i] = items[i];
  }
}
template <int BLOCK_THREADS, class T, int ITEMS, class Iterator>
void StoreDirectStriped(int thread, Iterator to, T (&items)[ITEMS]) {
  for (int i = 0; i < ITEMS; ++i) to[thread + i * BLOCK_THREADS] = items[i];
}
template <int BLOCK_THREADS, class T, int ITEMS, class Iterator>
void StoreDirectStriped(int thread, Iterator to, T (&items)[ITEMS], int valid_items) {
  for (int i = 0; i < ITEMS; ++i) {
    if (thread + i * BLOCK_THREADS < valid_items) to[thread + i * BLOCK_THREADS] = items[i];
  }
}
template <class T, int ITEMS>
void StoreDirectBlockedVectorized(int thread, T* to, T (&items)[ITEMS]) {
  StoreDirectBlocked(thread, to, items);
}

template <class T, int BLOCK_DIM_X, int ITEMS_PER_THREAD, BlockStoreAlgorithm ALGORITHM = BLOCK_STORE_DIRECT, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1, int = 0>
class BlockStore {
  using Block = detail::Block<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>;
  static constexpr bool transposes = ALGORITHM >= BLOCK_STORE_TRANSPOSE;
  static_assert(
      ALGORITHM < BLOCK_STORE_WARP_TRANSPOSE || Block::threads % 32 == 0,
      "a block that transposes by warps has whole warps");

 public:
  struct TempStorage : detail::TileStorage<std::conditional_t<transposes, T, char>, transposes ? Block::threads * ITEMS_PER_THREAD : 1> {
  };
  BlockStore() = default;
  explicit BlockStore(TempStorage&) {}

  // (to, items) and (to, items, valid_items).
  template <class Iterator, class... Bounds>
  void Store(Iterator to, T (&items)[ITEMS_PER_THREAD], Bounds... bounds) {
    if constexpr (ALGORITHM == BLOCK_STORE_STRIPED) {
      StoreDirectStriped<Block::threads>(Block::thread(), to, items, bounds...);
    } else {
      StoreDirectBlocked(Block::thread(), to, items, bounds...);
    }
  }
};

CUB_NAMESPACE_END
