#pragma once

#include "cub/iterator/counting_input_iterator.cuh"

namespace cub {

template <class T, class Offset = std::ptrdiff_t>
class ConstantInputIterator : public detail::RandomAccess<ConstantInputIterator<T, Offset>, T, Offset> {
 public:
  explicit ConstantInputIterator(T value, Offset place = 0) : value_(value), place_(place) {}
  T at(Offset) const { return value_; }
  void advance(Offset n) { place_ += n; }
  Offset distance_from(const ConstantInputIterator& other) const { return place_ - other.place_; }

 private:
  T value_;
  Offset place_;
};

}  // namespace cub
