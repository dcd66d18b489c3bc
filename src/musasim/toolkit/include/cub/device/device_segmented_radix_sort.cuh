// cub::DeviceSegmentedRadixSort: sorts each segment [begins[i], ends[i]) separately.
#pragma once

#include "cub/device/device_radix_sort.cuh"

CUB_NAMESPACE_BEGIN

struct DeviceSegmentedRadixSort {
#define MUSASIM_SORTS(suffix, descending)                                                                                         \
  template <class Key, class Value, class Begins, class Ends>                                                                     \
  static musaError_t SortPairs##suffix(void* storage, std::size_t& bytes, const Key* keys, Key* keys_out, const Value* values,    \
                                       Value* values_out, int, int segments, Begins begins, Ends ends, int begin_bit = 0,         \
                                       int end_bit = sizeof(Key) * 8, musaStream_t stream = nullptr, bool = false) {              \
    return sort(storage, bytes, {keys, keys_out, values, values_out, begin_bit, end_bit, descending}, segments, begins, ends, stream); \
  }                                                                                                                               \
  template <class Key, class Value, class Begins, class Ends>                                                                     \
  static musaError_t SortPairs##suffix(void* storage, std::size_t& bytes, DoubleBuffer<Key>& keys, DoubleBuffer<Value>& values,   \
                                       int, int segments, Begins begins, Ends ends, int begin_bit = 0,                            \
                                       int end_bit = sizeof(Key) * 8, musaStream_t stream = nullptr, bool = false) {              \
    const auto sorting = detail::sorting_of(storage == nullptr, keys, values, begin_bit, end_bit, descending);                    \
    return sort(storage, bytes, sorting, segments, begins, ends, stream);                                                         \
  }                                                                                                                               \
  template <class Key, class Begins, class Ends>                                                                                  \
  static musaError_t SortKeys##suffix(void* storage, std::size_t& bytes, const Key* keys, Key* keys_out, int, int segments,       \
                                      Begins begins, Ends ends, int begin_bit = 0, int end_bit = sizeof(Key) * 8,                 \
                                      musaStream_t stream = nullptr, bool = false) {                                              \
    const detail::Sorting<Key, NullType> sorting = {keys, keys_out, nullptr, nullptr, begin_bit, end_bit, descending};            \
    return sort(storage, bytes, sorting, segments, begins, ends, stream);                                                         \
  }                                                                                                                               \
  template <class Key, class Begins, class Ends>                                                                                  \
  static musaError_t SortKeys##suffix(void* storage, std::size_t& bytes, DoubleBuffer<Key>& keys, int, int segments,              \
                                      Begins begins, Ends ends, int begin_bit = 0, int end_bit = sizeof(Key) * 8,                 \
                                      musaStream_t stream = nullptr, bool = false) {                                              \
    DoubleBuffer<NullType> none;                                                                                                  \
    const auto sorting = detail::sorting_of(storage == nullptr, keys, none, begin_bit, end_bit, descending);                      \
    return sort(storage, bytes, sorting, segments, begins, ends, stream);                                                         \
  }
  MUSASIM_SORTS(, false)
  MUSASIM_SORTS(Descending, true)
#undef MUSASIM_SORTS

 private:
  template <class Key, class Value, class Begins, class Ends>
  static musaError_t sort(void* storage, std::size_t& bytes, detail::Sorting<Key, Value> sorting, int segments, Begins begins, Ends ends,
                          musaStream_t stream) {
    return detail::in_two_calls(storage, bytes, stream, [=] {
      for (int i = 0; i < segments; ++i) {
        if (begins[i] < ends[i]) sorting.segment(static_cast<std::size_t>(begins[i]), static_cast<std::size_t>(ends[i]));
      }
    });
  }
};

CUB_NAMESPACE_END
