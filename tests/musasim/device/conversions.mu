// Every floating-point type to every integer type, by each way to spell it, and the intrinsics.
#include <musa_bf16.h>
#include <musa_fp16.h>

#include <cstdint>

#include "on_device.h"

struct Results {
  long long of[4];
};

template <class Integer, class Real>
__device__ Results by_parameter(long long in_brackets, long long by_static_cast, Real value) {
  const Integer result = static_cast<Integer>(value);
  return {in_brackets, by_static_cast, (long long)(Integer)value, static_cast<long long>(result)};
}

#define CONVERSION(from, Real, name, Integer) \
  MAP1(from##_##name, Results, Real, (by_parameter<Integer, Real>((long long)(Integer)a, static_cast<Integer>(a), a)))
#define CONVERSIONS(from, Real)                     \
  CONVERSION(from, Real, int8, signed char)         \
  CONVERSION(from, Real, uint8, unsigned char)      \
  CONVERSION(from, Real, int16, short)              \
  CONVERSION(from, Real, uint16, std::uint16_t)     \
  CONVERSION(from, Real, int32, int)                \
  CONVERSION(from, Real, uint32, unsigned)          \
  CONVERSION(from, Real, int64, long long)          \
  CONVERSION(from, Real, uint64, unsigned long long)
CONVERSIONS(float, float)
CONVERSIONS(double, double)
CONVERSIONS(half, __half)
CONVERSIONS(bfloat16, __mt_bfloat16)

#define INTRINSICS(real)                                                                                                   \
  MAP1(real##_rz, Results, real, (Results{__##real##2int_rz(a), __##real##2uint_rz(a), __##real##2ll_rz(a), (long long)__##real##2ull_rz(a)})) \
  MAP1(real##_rn, Results, real, (Results{__##real##2int_rn(a), __##real##2uint_rn(a), __##real##2ll_rn(a), (long long)__##real##2ull_rn(a)}))
INTRINSICS(float)
INTRINSICS(double)

// What a template converts may be anything: classes, references, elements of vectors, bits of a field, arrays.
struct Field {
  int low : 3, high : 5;
};
struct Both {
  float first;
  int second;
  __device__ Both(float x) : first(x), second(1) {}
  __device__ Both(float x, int y) : first(x), second(y) {}
  __device__ operator float() { return first + static_cast<float>(second); }
};
template <class T, class Other>
__device__ T through(Other value) {
  Field field{2, 3};
  T from_field = static_cast<T>(field.high), pair = T(1.0f, 2), list = T{value};
  return static_cast<T>(list) + T(pair) + (T)from_field + (T)field.low;
}
template <class Place>
__device__ std::size_t place_of(Place array) {
  int values[2] = {4, 5};
  const auto reference = [](int& x) -> int& { return static_cast<int&>(x); };
  reference(values[0]) += 1;
  return (std::size_t)values == (std::size_t)(Place)array ? 1 : static_cast<std::size_t>(values[0]);
}
MAP1(through, float, float, (static_cast<float>(through<Both, float>(a))))
MAP1(place, long long, long long, (static_cast<long long>(place_of<const int*>(reinterpret_cast<const int*>(a)))))
