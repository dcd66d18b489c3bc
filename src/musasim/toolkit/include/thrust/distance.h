// Numbers of steps between iterators, and iterators a number of steps on.
#pragma once

#include "thrust/iterator/iterators.h"

namespace thrust {
template <class Iterator>
auto distance(Iterator first, Iterator last) -> decltype(last - first) {
  return last - first;
}
template <class Iterator, class Distance>
void advance(Iterator& iterator, Distance n) {
  iterator = iterator + n;
}
template <class Iterator>
Iterator next(Iterator iterator, std::ptrdiff_t n = 1) {
  return iterator + n;
}
template <class Iterator>
Iterator prev(Iterator iterator, std::ptrdiff_t n = 1) {
  return iterator + -n;
}
}  // namespace thrust
