// cub::DeviceRadixSort: stable sorts by the bits of the keys.
#pragma once

#include "cub/detail/on_stream.cuh"
#include "cub/detail/sorted_order.cuh"

CUB_NAMESPACE_BEGIN

namespace detail {

// Sorts keys, and their values if there are any, from one place to another.
template <class Key, class Value>
struct Sorting {
  const Key* keys;
  Key* keys_out;
  const Value* values;
  Value* values_out;
  int begin_bit, end_bit;
  bool descending;

  void segment(std::size_t first, std::size_t last) const {
    const auto order = sorted_order(keys + first, last - first, descending, begin_bit, end_bit);
    put_in_order(order, keys + first, keys_out + first);
    if constexpr (!std::is_same<Value, NullType>::value) put_in_order(order, values + first, values_out + first);
  }
};

// Sorts from the current buffer to the other one, which then becomes the current one.
template <class Key, class Value>
Sorting<Key, Value> sorting_of(bool asks_for_size, DoubleBuffer<Key>& keys, DoubleBuffer<Value>& values, int begin_bit, int end_bit,
                               bool descending) {
  const Sorting<Key, Value> result = {keys.Current(),     keys.Alternate(), values.Current(), values.Alternate(),
                                      begin_bit, end_bit, descending};
  if (!asks_for_size) keys.selector ^= 1, values.selector ^= 1;
  return result;
}

}  // namespace detail

struct DeviceRadixSort {
#define MUSASIM_SORTS(suffix, descending)                                                                                        \
  template <class Key, class Value, class Count>                                                                                 \
  static musaError_t SortPairs##suffix(void* storage, std::size_t& bytes, const Key* keys, Key* keys_out, const Value* values,   \
                                       Value* values_out, Count count, int begin_bit = 0, int end_bit = sizeof(Key) * 8,         \
                                       musaStream_t stream = nullptr, bool = false) {                                            \
    const detail::Sorting<Key, Value> sorting = {keys, keys_out, values, values_out, begin_bit, end_bit, descending};            \
    return detail::in_two_calls(storage, bytes, stream, [=] { sorting.segment(0, static_cast<std::size_t>(count)); });           \
  }                                                                                                                              \
  template <class Key, class Value, class Count>                                                                                 \
  static musaError_t SortPairs##suffix(void* storage, std::size_t& bytes, DoubleBuffer<Key>& keys, DoubleBuffer<Value>& values,  \
                                       Count count, int begin_bit = 0, int end_bit = sizeof(Key) * 8,                            \
                                       musaStream_t stream = nullptr, bool = false) {                                            \
    const auto sorting = detail::sorting_of(storage == nullptr, keys, values, begin_bit, end_bit, descending);                   \
    return detail::in_two_calls(storage, bytes, stream, [=] { sorting.segment(0, static_cast<std::size_t>(count)); });           \
  }                                                                                                                              \
  template <class Key, class Count>                                                                                              \
  static musaError_t SortKeys##suffix(void* storage, std::size_t& bytes, const Key* keys, Key* keys_out, Count count,            \
                                      int begin_bit = 0, int end_bit = sizeof(Key) * 8, musaStream_t stream = nullptr,           \
                                      bool = false) {                                                                            \
    const NullType* const none = nullptr;                                                                                        \
    return SortPairs##suffix(storage, bytes, keys, keys_out, none, const_cast<NullType*>(none), count, begin_bit, end_bit, stream); \
  }                                                                                                                              \
  template <class Key, class Count>                                                                                              \
  static musaError_t SortKeys##suffix(void* storage, std::size_t& bytes, DoubleBuffer<Key>& keys, Count count,                   \
                                      int begin_bit = 0, int end_bit = sizeof(Key) * 8, musaStream_t stream = nullptr,           \
                                      bool = false) {                                                                            \
    DoubleBuffer<NullType> none;                                                                                                 \
    return SortPairs##suffix(storage, bytes, keys, none, count, begin_bit, end_bit, stream);                                     \
  }
  MUSASIM_SORTS(, false)
  MUSASIM_SORTS(Descending, true)
#undef MUSASIM_SORTS
};

CUB_NAMESPACE_END
