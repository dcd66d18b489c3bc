// cub::BlockRadixSort: a stable sort of a block's items by the bits of their keys.
#pragma once

#include "cub/block/block_reduce.cuh"
#include "cub/block/block_scan.cuh"
#include "cub/detail/sorted_order.cuh"

CUB_NAMESPACE_BEGIN

template <class Key, int BLOCK_DIM_X, int ITEMS_PER_THREAD, class Value = NullType, int RADIX_BITS = 4, bool MEMOIZE_OUTER_SCAN = true,
          BlockScanAlgorithm INNER_SCAN_ALGORITHM = BLOCK_SCAN_WARP_SCANS, int SMEM_CONFIG = 0, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1,
          int = 0>
class BlockRadixSort {
  using Block = detail::Block<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>;
  static constexpr int ITEMS = ITEMS_PER_THREAD;
  static constexpr bool has_values = !std::is_same<Value, NullType>::value;
  static constexpr int all_bits = static_cast<int>(sizeof(Key)) * 8;
  struct Tile {
    Key keys[Block::threads * ITEMS];
    Value values[has_values ? Block::threads * ITEMS : 1];
  };

 public:
  struct TempStorage : Uninitialized<Tile> {};
  BlockRadixSort() : tile_(detail::private_storage<TempStorage>().Alias()) {}
  explicit BlockRadixSort(TempStorage& storage) : tile_(storage.Alias()) {}

#define MUSASIM_SORT(name, descending, striped)                                                                            \
  void name(Key (&keys)[ITEMS], int begin_bit = 0, int end_bit = all_bits) {                                               \
    sort(keys, static_cast<NullType(*)[ITEMS]>(nullptr), begin_bit, end_bit, descending, striped);                         \
  }                                                                                                                        \
  void name(Key (&keys)[ITEMS], Value (&values)[ITEMS], int begin_bit = 0, int end_bit = all_bits) {                       \
    sort(keys, &values, begin_bit, end_bit, descending, striped);                                                          \
  }
  MUSASIM_SORT(Sort, false, false)
  MUSASIM_SORT(SortDescending, true, false)
  MUSASIM_SORT(SortBlockedToStriped, false, true)
  MUSASIM_SORT(SortDescendingBlockedToStriped, true, true)
#undef MUSASIM_SORT

 private:
  template <class Given>
  void sort(Key (&keys)[ITEMS], Given (*values)[ITEMS], int begin_bit, int end_bit, bool descending, bool striped) {
    const int thread = Block::thread();
    for (int i = 0; i < ITEMS; ++i) {
      tile_.keys[thread * ITEMS + i] = keys[i];
      if constexpr (std::is_same<Given, Value>::value && has_values) tile_.values[thread * ITEMS + i] = (*values)[i];
    }
    __syncthreads();
    if (thread == 0) {
      const auto order = detail::sorted_order(tile_.keys, Block::threads * ITEMS, descending, begin_bit, end_bit);
      detail::put_in_order(order, tile_.keys, tile_.keys);
      if constexpr (std::is_same<Given, Value>::value && has_values) detail::put_in_order(order, tile_.values, tile_.values);
    }
    __syncthreads();
    for (int i = 0; i < ITEMS; ++i) {
      const int place = striped ? i * Block::threads + thread : thread * ITEMS + i;
      keys[i] = tile_.keys[place];
      if constexpr (std::is_same<Given, Value>::value && has_values) (*values)[i] = tile_.values[place];
    }
  }

  Tile& tile_;
};

CUB_NAMESPACE_END
