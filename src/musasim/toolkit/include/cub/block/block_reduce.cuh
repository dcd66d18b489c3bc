// cub::BlockReduce: thread 0 gets the result.
#pragma once

#include "cub/warp/warp_reduce.cuh"

CUB_NAMESPACE_BEGIN

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
};

namespace detail {

// A block of known extent: the thread's number in it, and the lanes of its warp that exist.
template <int X, int Y, int Z>
struct Block {
  static constexpr int threads = X * Y * Z;
  static constexpr int warps = (threads + 31) / 32;

  static int thread() { return RowMajorTid(X, Y, Z); }
  static int warp() { return thread() / 32; }
  static int threads_of_warp(int warp) { return threads - warp * 32 < 32 ? threads - warp * 32 : 32; }
  static unsigned int lanes() { return 0xffffffffu >> (32 - threads_of_warp(warp())); }
};

// Shared memory for a block-wide algorithm, if the caller provides none.
template <class Storage>
inline Storage& private_storage() {
  __shared__ Storage storage;
  return storage;
}

}  // namespace detail

template <class T, int BLOCK_DIM_X, BlockReduceAlgorithm ALGORITHM = BLOCK_REDUCE_WARP_REDUCTIONS, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1, int = 0>
class BlockReduce {
  using Block = detail::Block<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>;
  struct Partials {
    T of_warp[Block::warps];
  };

 public:
  struct TempStorage : Uninitialized<Partials> {};
  BlockReduce() : partials_(detail::private_storage<TempStorage>().Alias()) {}
  explicit BlockReduce(TempStorage& storage) : partials_(storage.Alias()) {}

  template <class Operator>
  T Reduce(T input, Operator combine) {
    return Reduce(input, combine, Block::threads);
  }
  template <class Operator>
  T Reduce(T input, Operator combine, int num_valid) {
    const auto values = musasim::from_lanes(Block::lanes(), input, "cub::BlockReduce");
    if (musasim_lane == 0) partials_.of_warp[Block::warp()] = detail::fold(values, 0, valid_of_warp(Block::warp(), num_valid), combine);
    __syncthreads();
    T result = input;
    if (Block::thread() == 0) {
      result = partials_.of_warp[0];
      for (int warp = 1; valid_of_warp(warp, num_valid) > 0; ++warp) result = combine(result, partials_.of_warp[warp]);
    }
    return result;
  }
  template <int ITEMS, class Operator>
  T Reduce(T (&inputs)[ITEMS], Operator combine) {
    T partial = inputs[0];
    for (int i = 1; i < ITEMS; ++i) partial = combine(partial, inputs[i]);
    return Reduce(partial, combine);
  }

  T Sum(T input) { return Reduce(input, cub::Sum()); }
  T Sum(T input, int num_valid) { return Reduce(input, cub::Sum(), num_valid); }
  template <int ITEMS>
  T Sum(T (&inputs)[ITEMS]) {
    return Reduce(inputs, cub::Sum());
  }

 private:
  static int valid_of_warp(int warp, int num_valid) {
    const int left = (num_valid < Block::threads ? num_valid : Block::threads) - warp * 32;
    return left < 32 ? left : 32;
  }

  Partials& partials_;
};

CUB_NAMESPACE_END
