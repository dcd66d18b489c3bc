// The order of the keys after a stable sort by some of their bits.
#pragma once

#include <algorithm>
#include <vector>

#include "cub/util_type.cuh"

CUB_NAMESPACE_BEGIN
namespace detail {

template <class Keys>
std::vector<std::size_t> sorted_order(Keys keys, std::size_t count, bool descending, int begin_bit, int end_bit) {
  using Bits = decltype(sorting_bits(keys[0], 0, 0));
  std::vector<Bits> bits(count);
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) {
    bits[i] = sorting_bits(keys[i], begin_bit, end_bit);
    if (descending) bits[i] = static_cast<Bits>(~bits[i]);
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return bits[a] < bits[b]; });
  return order;
}

// to[i] = from[order[i]], where `to` may be `from`.
template <class From, class To>
void put_in_order(const std::vector<std::size_t>& order, From from, To to) {
  using T = std::decay_t<decltype(from[0])>;
  std::vector<T> sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order) sorted.push_back(from[i]);
  std::copy(sorted.begin(), sorted.end(), to);
}

}  // namespace detail
CUB_NAMESPACE_END
