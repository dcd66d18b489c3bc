// cub::DeviceSelect and cub::DevicePartition.
#pragma once

#include <vector>

#include "cub/detail/on_stream.cuh"
#include "cub/thread/thread_operators.cuh"

CUB_NAMESPACE_BEGIN

namespace detail {

// Copies the items for which `keep(i)` holds to the front of `out`, in their order, and returns their number.
template <class In, class Out, class Count, class Keep>
Count select(In in, Out out, Count count, Keep keep) {
  Count kept = 0;
  for (Count i = 0; i < count; ++i) {
    if (keep(i)) out[kept++] = in[i];
  }
  return kept;
}

// Copies the other items behind them as well, the last one first.
template <class In, class Out, class Count, class Keep>
Count partition(In in, Out out, Count count, Keep keep) {
  std::vector<value_t<In>> rest;
  Count kept = 0;
  for (Count i = 0; i < count; ++i) {
    const value_t<In> item = in[i];
    if (keep(i)) {
      out[kept++] = item;
    } else {
      rest.push_back(item);
    }
  }
  Count place = count;
  for (const value_t<In>& item : rest) out[--place] = item;
  return kept;
}

}  // namespace detail

struct DeviceSelect {
  template <class In, class Flags, class Out, class CountOut, class Count>
  static musaError_t Flagged(void* storage, std::size_t& bytes, In in, Flags flags, Out out, CountOut selected, Count count,
                             musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      *selected = detail::select(in, out, count, [&](Count i) { return static_cast<bool>(flags[i]); });
    });
  }
  template <class In, class Out, class CountOut, class Count, class Predicate>
  static musaError_t If(void* storage, std::size_t& bytes, In in, Out out, CountOut selected, Count count, Predicate is,
                        musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      *selected = detail::select(in, out, count, [&](Count i) { return static_cast<bool>(is(in[i])); });
    });
  }
  // Keeps the first item of each run of equal ones.
  template <class In, class Out, class CountOut, class Count>
  static musaError_t Unique(void* storage, std::size_t& bytes, In in, Out out, CountOut selected, Count count,
                            musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      *selected = detail::select(in, out, count, [&](Count i) { return i == 0 || !(in[i] == in[i - 1]); });
    });
  }
  // The same for keys, with the value that belongs to each key that is kept.
  template <class Keys, class Values, class KeysOut, class ValuesOut, class CountOut, class Count>
  static musaError_t UniqueByKey(void* storage, std::size_t& bytes, Keys keys, Values values, KeysOut keys_out, ValuesOut values_out,
                                 CountOut selected, Count count, musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      const auto is_first = [&](Count i) { return i == 0 || !(keys[i] == keys[i - 1]); };
      detail::select(values, values_out, count, is_first);
      *selected = detail::select(keys, keys_out, count, is_first);
    });
  }
};

struct DevicePartition {
  template <class In, class Flags, class Out, class CountOut, class Count>
  static musaError_t Flagged(void* storage, std::size_t& bytes, In in, Flags flags, Out out, CountOut selected, Count count,
                             musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      *selected = detail::partition(in, out, count, [&](Count i) { return static_cast<bool>(flags[i]); });
    });
  }
  template <class In, class Out, class CountOut, class Count, class Predicate>
  static musaError_t If(void* storage, std::size_t& bytes, In in, Out out, CountOut selected, Count count, Predicate is,
                        musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      *selected = detail::partition(in, out, count, [&](Count i) { return static_cast<bool>(is(in[i])); });
    });
  }
};

CUB_NAMESPACE_END
