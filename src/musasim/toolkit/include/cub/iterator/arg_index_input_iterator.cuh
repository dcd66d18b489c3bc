#pragma once

#include "cub/iterator/counting_input_iterator.cuh"

CUB_NAMESPACE_BEGIN

// Pairs of a place and the value there.
template <class Iterator, class Offset = std::ptrdiff_t, class Value = detail::value_t<Iterator>>
class ArgIndexInputIterator
    : public detail::RandomAccess<ArgIndexInputIterator<Iterator, Offset, Value>, KeyValuePair<Offset, Value>, Offset> {
 public:
  explicit ArgIndexInputIterator(Iterator from, Offset place = 0) : from_(from), place_(place) {}
  KeyValuePair<Offset, Value> at(Offset n) const { return {place_ + n, from_[place_ + n]}; }
  void advance(Offset n) { place_ += n; }
  void normalize() {
    from_ = from_ + place_;
    place_ = 0;
  }
  Offset distance_from(const ArgIndexInputIterator& other) const { return place_ - other.place_; }

 private:
  Iterator from_;
  Offset place_;
};

CUB_NAMESPACE_END
