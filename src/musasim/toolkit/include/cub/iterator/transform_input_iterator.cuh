#pragma once

#include "cub/iterator/counting_input_iterator.cuh"

CUB_NAMESPACE_BEGIN

template <class T, class Conversion, class Iterator, class Offset = std::ptrdiff_t>
class TransformInputIterator : public detail::RandomAccess<TransformInputIterator<T, Conversion, Iterator, Offset>, T, Offset> {
 public:
  TransformInputIterator(Iterator from, Conversion conversion) : from_(from), conversion_(conversion) {}
  T at(Offset n) const { return conversion_(from_[n]); }
  void advance(Offset n) { from_ = from_ + n; }
  Offset distance_from(const TransformInputIterator& other) const { return static_cast<Offset>(from_ - other.from_); }

 private:
  Iterator from_;
  mutable Conversion conversion_;
};

CUB_NAMESPACE_END
