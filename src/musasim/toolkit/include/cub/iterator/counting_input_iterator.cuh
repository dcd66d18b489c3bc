// The iterators of CUB. Most of them compute an element when it is read.
#pragma once

#include "cub/util_type.cuh"
#include "musasim/iterators.h"

CUB_NAMESPACE_BEGIN

namespace detail {
using musasim::RandomAccess;
}  // namespace detail

template <class T, class Offset = std::ptrdiff_t>
class CountingInputIterator : public detail::RandomAccess<CountingInputIterator<T, Offset>, T, Offset> {
 public:
  explicit CountingInputIterator(const T& first) : first_(first) {}
  T at(Offset n) const { return static_cast<T>(first_ + static_cast<T>(n)); }
  void advance(Offset n) { first_ = at(n); }
  Offset distance_from(const CountingInputIterator& other) const { return static_cast<Offset>(first_ - other.first_); }

 private:
  T first_;
};

CUB_NAMESPACE_END
