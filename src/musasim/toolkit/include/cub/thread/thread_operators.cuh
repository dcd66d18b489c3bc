// The function objects of CUB.
#pragma once

#include <utility>

#include "cub/util_type.cuh"

CUB_NAMESPACE_BEGIN

struct Equality {
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return a == b;
  }
};
struct Inequality {
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return a != b;
  }
};
struct Sum {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const -> decltype(a + b) {
    return a + b;
  }
};
struct Difference {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const -> decltype(a - b) {
    return a - b;
  }
};
struct Division {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const -> decltype(a / b) {
    return a / b;
  }
};
struct Max {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
struct Min {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};
// For pairs of a place and a value. If values are equal, the earlier place wins.
struct ArgMax {
  template <class T, class Offset>
  KeyValuePair<Offset, T> operator()(const KeyValuePair<Offset, T>& a, const KeyValuePair<Offset, T>& b) const {
    return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class T, class Offset>
  KeyValuePair<Offset, T> operator()(const KeyValuePair<Offset, T>& a, const KeyValuePair<Offset, T>& b) const {
    return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
template <class B>
struct CastOp {
  template <class A>
  B operator()(A&& a) const {
    return static_cast<B>(std::forward<A>(a));
  }
};
template <class Operator>
struct SwizzleScanOp {
  Operator op;

  explicit SwizzleScanOp(Operator given) : op(given) {}
  template <class T>
  T operator()(const T& a, const T& b) {
    return op(b, a);
  }
};

CUB_NAMESPACE_END
