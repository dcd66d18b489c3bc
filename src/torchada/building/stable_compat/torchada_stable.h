// TORCH_BOX for PyTorch 2.9, which has none: an operator's function, called with the dispatcher's stack of values.
//
// Every function of the stable ABI that PyTorch 2.9 lacks is reached from here, so that `-include torchada_stable.h` is enough.
#pragma once

#if defined(__cplusplus) && !__has_include(<torch/headeronly/version.h>)

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace torchada_stable {

template <class T>
using Bare = std::remove_cv_t<std::remove_reference_t<T>>;

// What libtorch 2.9 puts on the stack: 64 bits, or a pointer to a tensor or to an optional value.
template <class T>
struct CanPass : std::bool_constant<std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(StableIValue)> {};
template <>
struct CanPass<torch::stable::Tensor> : std::true_type {};
template <>
struct CanPass<torch::stable::Device> : std::false_type {};
template <>
struct CanPass<float> : std::false_type {};
template <class T>
struct CanPass<std::optional<T>> : CanPass<T> {};

template <class T>
Bare<T> take(StableIValue value) {
  static_assert(
      CanPass<Bare<T>>::value,
      "PyTorch 2.9 cannot pass this type through its stable ABI; tensors, int64_t, double, bool and ScalarType can be passed, and "
      "std::optional of them");
  return ::to<Bare<T>>(value);
}

template <class T>
StableIValue give(const T& value) {
  static_assert(CanPass<T>::value, "PyTorch 2.9 cannot return this type through its stable ABI");
  return ::from(value);
}

template <class... T, std::size_t... I>
void give_all(StableIValue* stack, const std::tuple<T...>& values, std::index_sequence<I...>) {
  ((stack[I] = give<T>(std::get<I>(values))), ...);
}

// The number of values that a function returns, and where they go.
template <class T>
struct Outputs {
  static constexpr uint64_t count = 1;
  static void put(StableIValue* stack, const T& value) {
    stack[0] = give<T>(value);
  }
};
template <class... T>
struct Outputs<std::tuple<T...>> {
  static constexpr uint64_t count = sizeof...(T);
  static void put(StableIValue* stack, const std::tuple<T...>& values) {
    give_all(stack, values, std::index_sequence_for<T...>{});
  }
};
template <class A, class B>
struct Outputs<std::pair<A, B>> : Outputs<std::tuple<A, B>> {};
template <>
struct Outputs<void> {
  static constexpr uint64_t count = 0;
};

template <class Function>
struct Box;

template <class Result, class... Arguments>
struct Box<Result(Arguments...)> {
  template <Result (*function)(Arguments...)>
  static void call(StableIValue* stack, uint64_t inputs, uint64_t outputs) {
    constexpr uint64_t taken = sizeof...(Arguments), given = Outputs<Bare<Result>>::count;
    STD_TORCH_CHECK(inputs == taken, "the schema has ", inputs, " arguments, and the function takes ", taken);
    STD_TORCH_CHECK(outputs == given, "the schema returns ", outputs, " values, and the function ", given);
    run<function>(stack, std::index_sequence_for<Arguments...>{});
  }

 private:
  template <Result (*function)(Arguments...), std::size_t... I>
  static void run([[maybe_unused]] StableIValue* stack, std::index_sequence<I...>) {
    // Braces, so that every argument is taken, and in order, before anything can throw.
    std::tuple<Bare<Arguments>...> values{take<Arguments>(stack[I])...};
    if constexpr (std::is_void_v<Result>) {
      function(static_cast<Arguments&&>(std::get<I>(values))...);
    } else {
      Outputs<Bare<Result>>::put(stack, function(static_cast<Arguments&&>(std::get<I>(values))...));
    }
  }
};

} // namespace torchada_stable

#if __has_include(<mublas.h>)
// torch_musa has this function from its release for PyTorch 2.11 on. Until then it is reached in C++.
#include <mublas.h>

namespace at::musa {
mublasHandle_t getCurrentMUSABlasHandle();
}

inline AOTITorchError torch_get_current_musa_blas_handle(void** handle) {
  *handle = static_cast<void*>(at::musa::getCurrentMUSABlasHandle());
  return *handle == nullptr ? 1 : 0;
}
#endif

#define TORCH_BOX(function) \
  (&torchada_stable::Box<std::remove_pointer_t<std::decay_t<decltype(function)>>>::template call<(function)>)

#endif
