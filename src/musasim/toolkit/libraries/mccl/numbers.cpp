#include "numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace musasim::libmccl {
namespace {

struct BFloat16 {
  using Wide = float;
  uint16_t bits;

  explicit operator float() const {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }
  explicit BFloat16(float value) {
    uint32_t wide;
    std::memcpy(&wide, &value, sizeof(wide));
    const uint32_t to_even = 0x7fff + (wide >> 16 & 1);
    bits = std::isnan(value) ? 0x7fc0 : static_cast<uint16_t>((wide + to_even) >> 16);
  }
};

struct Half {
  using Wide = float;
  uint16_t bits;

  explicit operator float() const {
    const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
    float value;
    if (exponent == 0x1f) {
      value = fraction == 0 ? INFINITY : NAN;
    } else {
      value = std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction + 0x400), std::max(exponent, 1) - 25);
    }
    return (bits & 0x8000) != 0 ? -value : value;
  }
  explicit Half(float value) {
    const float size = std::fabs(value);
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(size)) {
      bits = 0x7e00;
    } else if (size >= 65520) { // half way from the largest number to the one that would follow
      bits = sign | 0x7c00;
    } else {
      // The numbers of an exponent are as far apart as 2 to the power of this. Rounding up to the next exponent carries into its bits.
      const int unit = (size < 0x1p-14f ? -14 : std::ilogb(size)) - 10;
      const auto steps = static_cast<uint16_t>(std::nearbyint(std::ldexp(size, -unit)));
      bits = sign | static_cast<uint16_t>(((unit + 24) << 10) + steps);
    }
  }
};

template <class T, class = void>
struct Wide {
  using type = T;
};
template <class T>
struct Wide<T, std::void_t<typename T::Wide>> {
  using type = typename T::Wide;
};

template <class T>
T combine(mcclRedOp_t op, T left, T right) {
  if (op == mcclMax) {
    return std::max(left, right);
  }
  if (op == mcclMin) {
    return std::min(left, right);
  }
  if constexpr (std::is_integral_v<T>) { // which wraps on a device
    const auto a = static_cast<uint64_t>(left), b = static_cast<uint64_t>(right);
    return static_cast<T>(op == mcclProd ? a * b : a + b);
  } else {
    return op == mcclProd ? left * right : left + right;
  }
}

template <class T>
void reduce_as(mcclRedOp_t op, const std::vector<const void*>& parts, void* into, size_t count) {
  using Number = typename Wide<T>::type;
  for (size_t i = 0; i < count; ++i) {
    auto result = static_cast<Number>(static_cast<const T*>(parts[0])[i]);
    for (size_t part = 1; part < parts.size(); ++part) {
      result = combine(op, result, static_cast<Number>(static_cast<const T*>(parts[part])[i]));
    }
    if (op == mcclAvg) {
      result /= static_cast<Number>(parts.size());
    }
    static_cast<T*>(into)[i] = static_cast<T>(result);
  }
}

} // namespace

size_t size_of(mcclDataType_t type) {
  constexpr size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < mcclNumTypes ? sizes[type] : 0;
}

bool can_reduce(mcclDataType_t type, mcclRedOp_t op) {
  return type >= 0 && type < mcclFp8E4M3 && op >= 0 && op < mcclNumOps;
}

namespace {

// Calls `work` with a value of the type; can_reduce() has refused those that have none here.
template <class Work>
void with_type(mcclDataType_t type, Work work) {
  switch (type) {
    case mcclInt8: return work(int8_t{});
    case mcclUint8: return work(uint8_t{});
    case mcclInt32: return work(int32_t{});
    case mcclUint32: return work(uint32_t{});
    case mcclInt64: return work(int64_t{});
    case mcclUint64: return work(uint64_t{});
    case mcclFloat16: return work(Half(0));
    case mcclFloat32: return work(float{});
    case mcclFloat64: return work(double{});
    case mcclBfloat16: return work(BFloat16(0));
    default: return;
  }
}

} // namespace

void multiply(mcclDataType_t type, const void* factor, const void* from, void* into, size_t count) {
  with_type(type, [=](auto example) {
    using T = decltype(example);
    using Number = typename Wide<T>::type;
    const auto by = static_cast<Number>(*static_cast<const T*>(factor));
    for (size_t i = 0; i < count; ++i) {
      static_cast<T*>(into)[i] = static_cast<T>(combine(mcclProd, static_cast<Number>(static_cast<const T*>(from)[i]), by));
    }
  });
}

void reduce(mcclDataType_t type, mcclRedOp_t op, const std::vector<const void*>& parts, void* into, size_t count) {
  with_type(type, [&](auto example) { reduce_as<decltype(example)>(op, parts, into, count); });
}

} // namespace musasim::libmccl
