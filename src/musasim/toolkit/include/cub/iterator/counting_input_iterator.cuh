// The iterators of CUB. Most of them compute an element when it is read.
#pragma once

#include <cstddef>
#include <iterator>

#include "cub/util_type.cuh"

namespace cub {

namespace detail {

// The parts of a random-access iterator besides operator[]. Derived has `base`, which counts, and at(base).
template <class Derived, class T, class Offset>
class RandomAccess {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = Offset;
  using pointer = const T*;
  using reference = T;
  using self_type = Derived;

  T operator*() const { return self().at(0); }
  template <class Distance>
  T operator[](Distance n) const {
    return self().at(static_cast<Offset>(n));
  }
  template <class Distance>
  Derived operator+(Distance n) const {
    Derived result = self();
    result.advance(static_cast<Offset>(n));
    return result;
  }
  template <class Distance>
  Derived operator-(Distance n) const {
    return *this + -static_cast<Offset>(n);
  }
  template <class Distance>
  Derived& operator+=(Distance n) {
    return self() = *this + n;
  }
  template <class Distance>
  Derived& operator-=(Distance n) {
    return self() = *this - n;
  }
  Derived& operator++() { return *this += 1; }
  Derived& operator--() { return *this -= 1; }
  Derived operator++(int) {
    const Derived before = self();
    ++*this;
    return before;
  }
  Derived operator--(int) {
    const Derived before = self();
    --*this;
    return before;
  }
  friend Offset operator-(const Derived& a, const Derived& b) { return a.distance_from(b); }
  friend bool operator==(const Derived& a, const Derived& b) { return a.distance_from(b) == 0; }
  friend bool operator!=(const Derived& a, const Derived& b) { return a.distance_from(b) != 0; }
  friend bool operator<(const Derived& a, const Derived& b) { return a.distance_from(b) < 0; }

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

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

}  // namespace cub
