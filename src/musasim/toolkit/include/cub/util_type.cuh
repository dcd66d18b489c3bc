// The small types of CUB: pairs, double buffers, storage without a constructor, and the bits of a key in order of its value.
#pragma once

#include <cfloat> // CUB brings it along, and kernels take FLT_MAX from there
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>

#include "cub/config.cuh"
#include "musa_bf16.h"
#include "musa_fp16.h"

CUB_NAMESPACE_BEGIN

struct NullType {
  template <class T>
  NullType& operator=(const T&) {
    return *this;
  }
  bool operator==(const NullType&) const { return true; }
  bool operator!=(const NullType&) const { return false; }
};

template <int A>
struct Int2Type {
  enum { VALUE = A };
};

// The logarithm to base two, rounded up.
template <int N>
struct Log2 {
  enum { VALUE = N <= 1 ? 0 : 1 + Log2<(N + 1) / 2>::VALUE };
};
template <>
struct Log2<1> {
  enum { VALUE = 0 };
};
template <>
struct Log2<0> {
  enum { VALUE = 0 };
};
template <int N>
struct PowerOfTwo {
  enum { VALUE = (N & (N - 1)) == 0 };
};

template <bool Condition, class Then, class Else>
struct If {
  typedef std::conditional_t<Condition, Then, Else> Type;
};
template <class A, class B>
struct Equals {
  enum { VALUE = std::is_same<A, B>::value, NEGATE = !std::is_same<A, B>::value };
};

template <class K, class V>
struct KeyValuePair {
  typedef K Key;
  typedef V Value;

  Key key;
  Value value;

  KeyValuePair() = default;
  KeyValuePair(const Key& the_key, const Value& the_value) : key(the_key), value(the_value) {}
  bool operator!=(const KeyValuePair& other) const { return key != other.key || value != other.value; }
};

// Two buffers. An algorithm may leave its result in either of them; Current() is the one that has it.
template <class T>
struct DoubleBuffer {
  T* d_buffers[2];
  int selector;

  DoubleBuffer() : d_buffers{nullptr, nullptr}, selector(0) {}
  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate}, selector(0) {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};

// Room for a T in shared memory or in a union.
template <class T>
struct Uninitialized {
  alignas(T) unsigned char storage[sizeof(T)];

  T& Alias() { return *reinterpret_cast<T*>(storage); }
};

// A value that is read when an algorithm runs, and not when it is called: an earlier kernel of the stream may write it.
template <class T, class Iterator = T*>
struct FutureValue {
  using value_type = T;
  using iterator_type = Iterator;

  explicit FutureValue(Iterator from) : from_(from) {}
  operator T() { return *from_; }

 private:
  Iterator from_;
};

enum Category { NOT_A_NUMBER, SIGNED_INTEGER, UNSIGNED_INTEGER, FLOATING_POINT };

namespace detail {

template <std::size_t Bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using type = uint8_t;
};
template <>
struct UnsignedOf<2> {
  using type = uint16_t;
};
template <>
struct UnsignedOf<4> {
  using type = uint32_t;
};
template <>
struct UnsignedOf<8> {
  using type = uint64_t;
};

template <class T>
constexpr bool is_small_float = std::is_same<T, __half>::value || std::is_same<T, __mt_bfloat16>::value;

template <class T>
constexpr Category category_of = std::is_floating_point<T>::value || is_small_float<T> ? FLOATING_POINT
                                 : !std::is_integral<T>::value                         ? NOT_A_NUMBER
                                 : std::is_signed<T>::value                            ? SIGNED_INTEGER
                                                                                       : UNSIGNED_INTEGER;

template <class T, bool is_number = category_of<T> != NOT_A_NUMBER>
struct TraitsOf {
  static constexpr Category CATEGORY = NOT_A_NUMBER;
  static constexpr bool PRIMITIVE = false;
};
template <class T>
struct TraitsOf<T, true> {
  using UnsignedBits = typename UnsignedOf<sizeof(T)>::type;
  static constexpr Category CATEGORY = category_of<T>;
  static constexpr bool PRIMITIVE = true;
  static constexpr UnsignedBits HIGH_BIT = static_cast<UnsignedBits>(UnsignedBits(1) << (sizeof(T) * 8 - 1));

  // Bits in the same order as the numbers.
  static UnsignedBits TwiddleIn(UnsignedBits key) {
    if (CATEGORY == FLOATING_POINT) return key & HIGH_BIT ? static_cast<UnsignedBits>(~key) : key ^ HIGH_BIT;
    return CATEGORY == SIGNED_INTEGER ? key ^ HIGH_BIT : key;
  }
  static UnsignedBits TwiddleOut(UnsignedBits key) {
    if (CATEGORY == FLOATING_POINT) return key & HIGH_BIT ? key ^ HIGH_BIT : static_cast<UnsignedBits>(~key);
    return CATEGORY == SIGNED_INTEGER ? key ^ HIGH_BIT : key;
  }
  static T Max() { return extreme(true); }
  static T Lowest() { return extreme(false); }

 private:
  static T extreme(bool highest) {
    if constexpr (is_small_float<T>) {
      const unsigned bits = std::is_same<T, __half>::value ? 0x7bff : 0x7f7f;
      return T::from_bits(highest ? bits : bits | 0x8000);
    } else {
      return highest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
    }
  }
};

// The part of a key that a radix sort compares. The two zeros of floating point are equal.
template <class Key>
typename TraitsOf<Key>::UnsignedBits sorting_bits(const Key& key, int begin_bit, int end_bit) {
  using Traits = TraitsOf<Key>;
  using Bits = typename Traits::UnsignedBits;
  Bits bits = musasim::bits_of<Bits>(key);
  if (Traits::CATEGORY == FLOATING_POINT && bits == Traits::HIGH_BIT) bits = 0;
  const int width = end_bit - begin_bit;
  bits = static_cast<Bits>(Traits::TwiddleIn(bits) >> begin_bit);
  return width >= static_cast<int>(sizeof(Bits)) * 8 ? bits : static_cast<Bits>(bits & ((Bits(1) << width) - 1));
}

template <class Iterator>
using value_t = typename std::iterator_traits<Iterator>::value_type;
template <class Iterator, class Fallback>
using non_void_value_t = std::conditional_t<std::is_void<value_t<Iterator>>::value, Fallback, value_t<Iterator>>;

}  // namespace detail

template <class T>
struct Traits : detail::TraitsOf<std::remove_cv_t<T>> {};
template <class T>
struct NumericTraits : detail::TraitsOf<std::remove_cv_t<T>> {};

CUB_NAMESPACE_END
