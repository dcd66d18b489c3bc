// The iterators that compute or combine: counting, constant, transform, zip, permutation, discard, reverse.
#pragma once

#include <cstddef>
#include <iterator>
#include <tuple>
#include <utility>

#include "musasim/iterators.h"
#include "thrust/execution_policy.h"
#include "thrust/tuple.h"

namespace thrust {

using std::make_reverse_iterator;
using std::reverse_iterator;

template <class T>
class counting_iterator : public musasim::RandomAccess<counting_iterator<T>, T, std::ptrdiff_t> {
 public:
  explicit counting_iterator(T first = T()) : first_(first) {}
  T at(std::ptrdiff_t n) const { return static_cast<T>(first_ + static_cast<T>(n)); }
  void advance(std::ptrdiff_t n) { first_ = at(n); }
  std::ptrdiff_t distance_from(const counting_iterator& other) const { return static_cast<std::ptrdiff_t>(first_ - other.first_); }

 private:
  T first_;
};
template <class T>
counting_iterator<T> make_counting_iterator(T first) {
  return counting_iterator<T>(first);
}

template <class T>
class constant_iterator : public musasim::ConstantInputIterator<T> {
 public:
  using musasim::ConstantInputIterator<T>::ConstantInputIterator;
};
template <class T>
musasim::ConstantInputIterator<T> make_constant_iterator(T value) {
  return musasim::ConstantInputIterator<T>(value);
}

template <class System = void>
using discard_iterator = musasim::DiscardOutputIterator<>;
inline discard_iterator<> make_discard_iterator() { return discard_iterator<>(); }

template <class Function, class Iterator,
          class T = std::decay_t<decltype(std::declval<Function&>()(*std::declval<typename detail::Inside<Iterator>::type&>()))>>
class transform_iterator : public musasim::RandomAccess<transform_iterator<Function, Iterator, T>, T, std::ptrdiff_t> {
 public:
  transform_iterator(Iterator from, Function function) : from_(from), function_(function) {}
  T at(std::ptrdiff_t n) const { return function_(detail::inside(from_)[n]); }
  void advance(std::ptrdiff_t n) { from_ = from_ + n; }
  std::ptrdiff_t distance_from(const transform_iterator& other) const { return from_ - other.from_; }
  Iterator base() const { return from_; }

 private:
  Iterator from_;
  mutable Function function_;
};
template <class Function, class Iterator>
transform_iterator<Function, Iterator> make_transform_iterator(Iterator from, Function function) {
  return {from, function};
}

// Elements by a map of places: element n is from[places[n]].
template <class Elements, class Places>
class permutation_iterator {
  using Inner = typename detail::Inside<Elements>::type;

 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = typename std::iterator_traits<Elements>::value_type;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = decltype(std::declval<Inner&>()[0]);

  permutation_iterator(Elements from, Places places) : from_(from), places_(places) {}
  reference operator[](difference_type n) const { return detail::inside(from_)[detail::inside(places_)[n]]; }
  reference operator*() const { return (*this)[0]; }
  permutation_iterator operator+(difference_type n) const { return {from_, places_ + n}; }
  permutation_iterator& operator++() { return places_ = places_ + 1, *this; }
  permutation_iterator operator++(int) {
    const permutation_iterator before = *this;
    ++*this;
    return before;
  }
  friend difference_type operator-(const permutation_iterator& a, const permutation_iterator& b) { return a.places_ - b.places_; }
  friend bool operator==(const permutation_iterator& a, const permutation_iterator& b) { return a - b == 0; }
  friend bool operator!=(const permutation_iterator& a, const permutation_iterator& b) { return a - b != 0; }

 private:
  Elements from_;
  Places places_;
};
template <class Elements, class Places>
permutation_iterator<Elements, Places> make_permutation_iterator(Elements from, Places places) {
  return {from, places};
}

template <class Iterators>
class zip_iterator;
template <class... Iterators>
class zip_iterator<std::tuple<Iterators...>> {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = std::tuple<typename std::iterator_traits<Iterators>::value_type...>;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = std::tuple<decltype(std::declval<typename detail::Inside<Iterators>::type&>()[0])...>;

  explicit zip_iterator(const std::tuple<Iterators...>& parts) : parts_(parts) {}
  const std::tuple<Iterators...>& get_iterator_tuple() const { return parts_; }
  reference operator[](difference_type n) const {
    return std::apply([n](const Iterators&... each) { return reference(detail::inside(each)[n]...); }, parts_);
  }
  reference operator*() const { return (*this)[0]; }
  zip_iterator operator+(difference_type n) const {
    return std::apply([n](const Iterators&... each) { return zip_iterator(std::tuple<Iterators...>(each + n...)); }, parts_);
  }
  zip_iterator& operator++() { return *this = *this + 1; }
  zip_iterator operator++(int) {
    const zip_iterator before = *this;
    ++*this;
    return before;
  }
  friend difference_type operator-(const zip_iterator& a, const zip_iterator& b) { return std::get<0>(a.parts_) - std::get<0>(b.parts_); }
  friend bool operator==(const zip_iterator& a, const zip_iterator& b) { return a - b == 0; }
  friend bool operator!=(const zip_iterator& a, const zip_iterator& b) { return a - b != 0; }

 private:
  std::tuple<Iterators...> parts_;
};
template <class... Iterators>
zip_iterator<std::tuple<Iterators...>> make_zip_iterator(const std::tuple<Iterators...>& parts) {
  return zip_iterator<std::tuple<Iterators...>>(parts);
}
template <class... Iterators>
zip_iterator<std::tuple<Iterators...>> make_zip_iterator(Iterators... parts) {
  return zip_iterator<std::tuple<Iterators...>>(std::tuple<Iterators...>(parts...));
}

namespace detail {
// These access their parts themselves.
template <class Function, class Iterator, class T>
struct Inside<transform_iterator<Function, Iterator, T>> {
  static constexpr bool on_device = Inside<Iterator>::on_device;
  using type = transform_iterator<Function, Iterator, T>;
  static type of(const type& iterator) { return iterator; }
};
template <class Elements, class Places>
struct Inside<permutation_iterator<Elements, Places>> {
  static constexpr bool on_device = Inside<Elements>::on_device || Inside<Places>::on_device;
  using type = permutation_iterator<Elements, Places>;
  static type of(const type& iterator) { return iterator; }
};
template <class... Iterators>
struct Inside<zip_iterator<std::tuple<Iterators...>>> {
  static constexpr bool on_device = (Inside<Iterators>::on_device || ...);
  using type = zip_iterator<std::tuple<Iterators...>>;
  static type of(const type& iterator) { return iterator; }
};
}  // namespace detail

}  // namespace thrust
