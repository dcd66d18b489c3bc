// cub::WarpScan.
#pragma once

#include "cub/warp/warp_reduce.cuh"

CUB_NAMESPACE_BEGIN

template <class T, int LOGICAL_WARP_THREADS = 32, int = 0>
class WarpScan {
 public:
  struct TempStorage {
    unsigned char nothing;
  };
  explicit WarpScan(TempStorage&) {}

  template <class Operator>
  void InclusiveScan(T input, T& output, Operator combine) {
    T aggregate;
    InclusiveScan(input, output, combine, aggregate);
  }
  template <class Operator>
  void InclusiveScan(T input, T& output, Operator combine, T& aggregate) {
    const auto values = exchange(input);
    aggregate = detail::fold(values, first(), LOGICAL_WARP_THREADS, combine);
    output = detail::fold(values, first(), place() + 1, combine);
  }
  // Without an initial value the first lane's output is undefined: it stays as it was.
  template <class Operator>
  void ExclusiveScan(T input, T& output, Operator combine) {
    const auto values = exchange(input);
    if (place() > 0) output = detail::fold(values, first(), place(), combine);
  }
  template <class Operator>
  void ExclusiveScan(T input, T& output, T initial, Operator combine) {
    T aggregate;
    ExclusiveScan(input, output, initial, combine, aggregate);
  }
  template <class Operator>
  void ExclusiveScan(T input, T& output, Operator combine, T& aggregate) {
    const auto values = exchange(input);
    aggregate = detail::fold(values, first(), LOGICAL_WARP_THREADS, combine);
    if (place() > 0) output = detail::fold(values, first(), place(), combine);
  }
  // The aggregate does not contain the initial value.
  template <class Operator>
  void ExclusiveScan(T input, T& output, T initial, Operator combine, T& aggregate) {
    const auto values = exchange(input);
    aggregate = detail::fold(values, first(), LOGICAL_WARP_THREADS, combine);
    output = place() > 0 ? combine(initial, detail::fold(values, first(), place(), combine)) : initial;
  }
  template <class Operator>
  void Scan(T input, T& inclusive_output, T& exclusive_output, Operator combine) {
    const auto values = exchange(input);
    inclusive_output = detail::fold(values, first(), place() + 1, combine);
    if (place() > 0) exclusive_output = detail::fold(values, first(), place(), combine);
  }

  void InclusiveSum(T input, T& output) { InclusiveScan(input, output, cub::Sum()); }
  void InclusiveSum(T input, T& output, T& aggregate) { InclusiveScan(input, output, cub::Sum(), aggregate); }
  void ExclusiveSum(T input, T& output) { ExclusiveScan(input, output, T(0), cub::Sum()); }
  void ExclusiveSum(T input, T& output, T& aggregate) { ExclusiveScan(input, output, T(0), cub::Sum(), aggregate); }
  T Broadcast(T input, unsigned int source) { return exchange(input)[first() + static_cast<int>(source)]; }

 private:
  static int place() { return static_cast<int>(musasim_lane) % LOGICAL_WARP_THREADS; }
  static int first() { return static_cast<int>(musasim_lane) - place(); }
  static musasim::FromLanes<T> exchange(const T& input) {
    return musasim::from_lanes(detail::logical_warp<LOGICAL_WARP_THREADS>(), input, "cub::WarpScan");
  }
};

CUB_NAMESPACE_END
