// cub::BlockScan, exclusive and inclusive, with one or several items of a thread, and with a running prefix.
#pragma once

#include "cub/block/block_reduce.cuh"
#include "cub/warp/warp_scan.cuh"

CUB_NAMESPACE_BEGIN

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

template <class T, int BLOCK_DIM_X, BlockScanAlgorithm ALGORITHM = BLOCK_SCAN_RAKING, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1,
          int = 0>
class BlockScan {
  using Block = detail::Block<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>;
  struct Partials {
    T of_warp[Block::warps];
    T prefix;
  };
  // The aggregate before the calling thread's first item, if there is one.
  struct Before {
    bool any;
    T value;

    template <class Operator>
    T then(Operator combine, const T& input) const {
      return any ? T(combine(value, input)) : input;
    }
  };

 public:
  struct TempStorage : Uninitialized<Partials> {};
  BlockScan() : partials_(detail::private_storage<TempStorage>().Alias()) {}
  explicit BlockScan(TempStorage& storage) : partials_(storage.Alias()) {}

  // --- one item a thread ---------------------------------------------------------------------------------------------
  template <class Operator>
  void ExclusiveScan(T input, T& output, T initial, Operator combine) {
    T aggregate;
    ExclusiveScan(input, output, initial, combine, aggregate);
  }
  template <class Operator>
  void ExclusiveScan(T input, T& output, T initial, Operator combine, T& aggregate) {
    const Before before = before_thread(input, combine, aggregate);
    output = before.any ? T(combine(initial, before.value)) : initial;
  }
  // Without an initial value thread 0's output is undefined: it stays as it was.
  template <class Operator>
  void ExclusiveScan(T input, T& output, Operator combine) {
    T aggregate;
    ExclusiveScan(input, output, combine, aggregate);
  }
  template <class Operator>
  void ExclusiveScan(T input, T& output, Operator combine, T& aggregate) {
    const Before before = before_thread(input, combine, aggregate);
    if (before.any) output = before.value;
  }
  template <class Operator, class Callback>
  void ExclusiveScan(T input, T& output, Operator combine, Callback& prefix_of) {
    output = before_thread_with_prefix(input, combine, prefix_of).value;
  }
  template <class Operator>
  void InclusiveScan(T input, T& output, Operator combine) {
    T aggregate;
    InclusiveScan(input, output, combine, aggregate);
  }
  template <class Operator>
  void InclusiveScan(T input, T& output, Operator combine, T& aggregate) {
    output = before_thread(input, combine, aggregate).then(combine, input);
  }
  template <class Operator, class Callback>
  void InclusiveScan(T input, T& output, Operator combine, Callback& prefix_of) {
    output = before_thread_with_prefix(input, combine, prefix_of).then(combine, input);
  }

  // --- several items a thread ------------------------------------------------------------------------------------------
  template <int ITEMS, class Operator>
  void ExclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], T initial, Operator combine) {
    T aggregate;
    ExclusiveScan(input, output, initial, combine, aggregate);
  }
  template <int ITEMS, class Operator>
  void ExclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], T initial, Operator combine, T& aggregate) {
    const Before before = before_thread(folded(input, combine), combine, aggregate);
    exclusive(input, output, combine, Before{true, before.any ? T(combine(initial, before.value)) : initial});
  }
  template <int ITEMS, class Operator>
  void ExclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], Operator combine) {
    T aggregate;
    ExclusiveScan(input, output, combine, aggregate);
  }
  template <int ITEMS, class Operator>
  void ExclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], Operator combine, T& aggregate) {
    exclusive(input, output, combine, before_thread(folded(input, combine), combine, aggregate));
  }
  template <int ITEMS, class Operator, class Callback>
  void ExclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], Operator combine, Callback& prefix_of) {
    exclusive(input, output, combine, before_thread_with_prefix(folded(input, combine), combine, prefix_of));
  }
  template <int ITEMS, class Operator>
  void InclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], Operator combine) {
    T aggregate;
    InclusiveScan(input, output, combine, aggregate);
  }
  template <int ITEMS, class Operator>
  void InclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], Operator combine, T& aggregate) {
    inclusive(input, output, combine, before_thread(folded(input, combine), combine, aggregate));
  }
  template <int ITEMS, class Operator, class Callback>
  void InclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], Operator combine, Callback& prefix_of) {
    inclusive(input, output, combine, before_thread_with_prefix(folded(input, combine), combine, prefix_of));
  }

  // --- sums --------------------------------------------------------------------------------------------------------------
  void ExclusiveSum(T input, T& output) { ExclusiveScan(input, output, T(), cub::Sum()); }
  void ExclusiveSum(T input, T& output, T& aggregate) { ExclusiveScan(input, output, T(), cub::Sum(), aggregate); }
  template <class Callback>
  void ExclusiveSum(T input, T& output, Callback& prefix_of) {
    ExclusiveScan(input, output, cub::Sum(), prefix_of);
  }
  void InclusiveSum(T input, T& output) { InclusiveScan(input, output, cub::Sum()); }
  void InclusiveSum(T input, T& output, T& aggregate) { InclusiveScan(input, output, cub::Sum(), aggregate); }
  template <class Callback>
  void InclusiveSum(T input, T& output, Callback& prefix_of) {
    InclusiveScan(input, output, cub::Sum(), prefix_of);
  }
  template <int ITEMS>
  void ExclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS]) {
    ExclusiveScan(input, output, T(), cub::Sum());
  }
  template <int ITEMS>
  void ExclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS], T& aggregate) {
    ExclusiveScan(input, output, T(), cub::Sum(), aggregate);
  }
  template <int ITEMS, class Callback>
  void ExclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS], Callback& prefix_of) {
    ExclusiveScan(input, output, cub::Sum(), prefix_of);
  }
  template <int ITEMS>
  void InclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS]) {
    InclusiveScan(input, output, cub::Sum());
  }
  template <int ITEMS>
  void InclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS], T& aggregate) {
    InclusiveScan(input, output, cub::Sum(), aggregate);
  }
  template <int ITEMS, class Callback>
  void InclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS], Callback& prefix_of) {
    InclusiveScan(input, output, cub::Sum(), prefix_of);
  }

 private:
  template <class Operator>
  Before before_thread(const T& input, Operator combine, T& aggregate) {
    const auto values = musasim::from_lanes(Block::lanes(), input, "cub::BlockScan");
    const int warp = Block::warp(), lane = Block::thread() % 32;
    if (lane == 0) partials_.of_warp[warp] = detail::fold(values, 0, 32, combine);
    __syncthreads();
    Before before{false, input};
    if (warp > 0) before = {true, fold_warps(warp, combine)};
    aggregate = fold_warps(Block::warps, combine);
    if (lane > 0) before = {true, before.then(combine, detail::fold(values, 0, lane, combine))};
    return before;
  }

  // The first warp calls the callback for the prefix of the block. The result in its first lane counts.
  template <class Operator, class Callback>
  Before before_thread_with_prefix(const T& input, Operator combine, Callback& prefix_of) {
    T aggregate;
    const Before before = before_thread(input, combine, aggregate);
    if (Block::warp() == 0) {
      const T prefix = prefix_of(aggregate);
      if (Block::thread() == 0) partials_.prefix = prefix;
    }
    __syncthreads();
    return {true, before.any ? T(combine(partials_.prefix, before.value)) : partials_.prefix};
  }

  template <class Operator>
  T fold_warps(int count, Operator combine) const {
    T result = partials_.of_warp[0];
    for (int warp = 1; warp < count; ++warp) result = combine(result, partials_.of_warp[warp]);
    return result;
  }
  template <int ITEMS, class Operator>
  static T folded(const T (&items)[ITEMS], Operator combine) {
    T result = items[0];
    for (int i = 1; i < ITEMS; ++i) result = combine(result, items[i]);
    return result;
  }
  template <int ITEMS, class Operator>
  static void exclusive(const T (&input)[ITEMS], T (&output)[ITEMS], Operator combine, Before before) {
    for (int i = 0; i < ITEMS; ++i) {
      const T item = input[i];  // the output may be the input
      if (before.any) output[i] = before.value;
      before = {true, before.then(combine, item)};
    }
  }
  template <int ITEMS, class Operator>
  static void inclusive(const T (&input)[ITEMS], T (&output)[ITEMS], Operator combine, Before before) {
    for (int i = 0; i < ITEMS; ++i) {
      before = {true, before.then(combine, input[i])};
      output[i] = before.value;
    }
  }

  Partials& partials_;
};

CUB_NAMESPACE_END
