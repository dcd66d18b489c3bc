// THO_DISPATCH_SWITCH and THO_DISPATCH_CASE: a function for the type of a tensor's elements, which it knows as scalar_t.
#pragma once
#if __has_include_next(<torch/headeronly/core/Dispatch.h>)
#include_next <torch/headeronly/core/Dispatch.h>
#else

#include <c10/core/ScalarType.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

namespace torch::headeronly {
using c10::toString;
namespace impl {
template <ScalarType type>
using ScalarTypeToCPPTypeT = c10::impl::ScalarTypeToCPPTypeT<type>;
} // namespace impl
} // namespace torch::headeronly

#define THO_DISPATCH_CASE(type, ...)                                                        \
  case type: {                                                                              \
    using scalar_t [[maybe_unused]] = ::torch::headeronly::impl::ScalarTypeToCPPTypeT<type>; \
    return __VA_ARGS__();                                                                   \
  }

#define THO_DISPATCH_SWITCH(type, name, ...)                                          \
  [&] {                                                                               \
    const ::torch::headeronly::ScalarType torchada_type = (type);                     \
    switch (torchada_type) {                                                          \
      __VA_ARGS__                                                                     \
      default:                                                                        \
        STD_TORCH_CHECK(                                                              \
            false,                                                                    \
            '"',                                                                      \
            name,                                                                     \
            "\" not implemented for '",                                               \
            ::torch::headeronly::toString(torchada_type),                             \
            "'");                                                                     \
    }                                                                                 \
  }()

#endif
