#pragma once

#include "cub/iterator/counting_input_iterator.cuh"

CUB_NAMESPACE_BEGIN

enum CacheLoadModifier { LOAD_DEFAULT, LOAD_CA, LOAD_CG, LOAD_CS, LOAD_CV, LOAD_LDG, LOAD_VOLATILE };

// The simulated device has no caches.
template <CacheLoadModifier MODIFIER, class T, class Offset = std::ptrdiff_t>
class CacheModifiedInputIterator : public detail::RandomAccess<CacheModifiedInputIterator<MODIFIER, T, Offset>, T, Offset> {
 public:
  template <class U>
  explicit CacheModifiedInputIterator(U* from) : from_(from) {}
  T at(Offset n) const { return from_[n]; }
  void advance(Offset n) { from_ += n; }
  Offset distance_from(const CacheModifiedInputIterator& other) const { return from_ - other.from_; }

 private:
  const T* from_;
};

template <CacheLoadModifier MODIFIER, class Iterator>
detail::value_t<Iterator> ThreadLoad(Iterator from) {
  return *from;
}

CUB_NAMESPACE_END
