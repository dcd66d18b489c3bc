// The iterators that CUB and Thrust share. They are in neither of them, because a program can move CUB into another namespace.
#pragma once

#include <cstddef>
#include <iterator>

namespace musasim {

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

template <class T, class Offset = std::ptrdiff_t>
class ConstantInputIterator : public RandomAccess<ConstantInputIterator<T, Offset>, T, Offset> {
 public:
  explicit ConstantInputIterator(T value, Offset place = 0) : value_(value), place_(place) {}
  T at(Offset) const { return value_; }
  void advance(Offset n) { place_ += n; }
  Offset distance_from(const ConstantInputIterator& other) const { return place_ - other.place_; }

 private:
  T value_;
  Offset place_;
};

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

}  // namespace musasim
