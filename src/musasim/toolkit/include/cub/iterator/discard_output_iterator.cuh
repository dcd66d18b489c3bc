#pragma once

#include "cub/iterator/counting_input_iterator.cuh"

namespace cub {

// Discards everything that is written to it.
template <class Offset = std::ptrdiff_t>
class DiscardOutputIterator {
 public:
  struct Nowhere {
    template <class T>
    const Nowhere& operator=(const T&) const {
      return *this;
    }
  };
  using iterator_category = std::random_access_iterator_tag;
  using value_type = void;
  using difference_type = Offset;
  using pointer = void;
  using reference = Nowhere;

  explicit DiscardOutputIterator(Offset place = 0) : place_(place) {}
  Nowhere operator*() const { return {}; }
  template <class Distance>
  Nowhere operator[](Distance) const {
    return {};
  }
  DiscardOutputIterator& operator++() {
    ++place_;
    return *this;
  }
  template <class Distance>
  DiscardOutputIterator operator+(Distance n) const {
    return DiscardOutputIterator(place_ + static_cast<Offset>(n));
  }

 private:
  Offset place_;
};

}  // namespace cub
