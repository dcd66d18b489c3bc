// cub::DeviceReduce.
#pragma once

#include "cub/detail/on_stream.cuh"
#include "cub/iterator/arg_index_input_iterator.cuh"
#include "cub/thread/thread_operators.cuh"

CUB_NAMESPACE_BEGIN

namespace detail {

template <class In, class Count, class Operator, class T>
T reduced(In in, Count first, Count last, Operator combine, T result) {
  for (Count i = first; i < last; ++i) result = combine(result, in[i]);
  return result;
}

// The value and its place in the segment. For an empty segment, place 1 and the worst value.
template <class Pair, class In, class Count, class Operator, class T>
Pair best(In in, Count first, Count last, Operator combine, T worst) {
  if (first >= last) return {1, worst};
  Pair result = {0, in[first]};
  for (Count i = first + 1; i < last; ++i) {
    result = combine(result, Pair{static_cast<typename Pair::Key>(i - first), in[i]});
  }
  return result;
}

template <class Out, class In>
using PairOf = non_void_value_t<Out, KeyValuePair<int, value_t<In>>>;

}  // namespace detail

struct DeviceReduce {
  template <class In, class Out, class Operator, class T, class Count>
  static musaError_t Reduce(void* storage, std::size_t& bytes, In in, Out out, Count count, Operator combine, T initial,
                            musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      *out = detail::reduced(in, Count(0), count, combine, initial);
    });
  }
  template <class In, class Out, class Count>
  static musaError_t Sum(void* storage, std::size_t& bytes, In in, Out out, Count count, musaStream_t stream = nullptr, bool = false) {
    using T = detail::non_void_value_t<Out, detail::value_t<In>>;
    return Reduce(storage, bytes, in, out, count, cub::Sum(), T(), stream);
  }
  template <class In, class Out, class Count>
  static musaError_t Min(void* storage, std::size_t& bytes, In in, Out out, Count count, musaStream_t stream = nullptr, bool = false) {
    using T = detail::value_t<In>;
    return Reduce(storage, bytes, in, out, count, cub::Min(), T(Traits<T>::Max()), stream);
  }
  template <class In, class Out, class Count>
  static musaError_t Max(void* storage, std::size_t& bytes, In in, Out out, Count count, musaStream_t stream = nullptr, bool = false) {
    using T = detail::value_t<In>;
    return Reduce(storage, bytes, in, out, count, cub::Max(), T(Traits<T>::Lowest()), stream);
  }
  template <class In, class Out, class Count>
  static musaError_t ArgMin(void* storage, std::size_t& bytes, In in, Out out, Count count, musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      const auto worst = Traits<detail::value_t<In>>::Max();
      *out = detail::best<detail::PairOf<Out, In>>(in, Count(0), count, cub::ArgMin(), worst);
    });
  }
  template <class In, class Out, class Count>
  static musaError_t ArgMax(void* storage, std::size_t& bytes, In in, Out out, Count count, musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      const auto worst = Traits<detail::value_t<In>>::Lowest();
      *out = detail::best<detail::PairOf<Out, In>>(in, Count(0), count, cub::ArgMax(), worst);
    });
  }

  // Reduces each run of equal keys to one key and the reduction of its values.
  template <class Keys, class UniqueOut, class Values, class Out, class CountOut, class Operator, class Count>
  static musaError_t ReduceByKey(void* storage, std::size_t& bytes, Keys keys, UniqueOut unique, Values values, Out out,
                                 CountOut count_of_runs, Operator combine, Count count, musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      Count runs = 0;
      for (Count i = 0; i < count; ++runs) {
        const detail::value_t<Keys> key = keys[i];
        detail::value_t<Values> result = values[i];
        for (++i; i < count && keys[i] == key; ++i) result = combine(result, values[i]);
        unique[runs] = key;
        out[runs] = result;
      }
      *count_of_runs = runs;
    });
  }
};

CUB_NAMESPACE_END
