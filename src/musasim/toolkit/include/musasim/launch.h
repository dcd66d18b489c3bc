// The names that mcc's rewritten kernels and launches use. Programs do not use them.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#include "musasim/engine.h"
#include "vector_types.h"

// Of the C++ part behind torch_musa, for the tally of a test run; a program without it has none.
extern "C" [[gnu::weak]] void musasim_count_kernel(const char* name);

namespace musasim {

// kernel<<<grid, block, shared, stream>>>(arguments) becomes
// (musasim::configure(grid, block, shared, stream) ? kernel(arguments) : void()).
inline bool configure(dim3 grid, dim3 block, std::size_t shared = 0, MUstream_st* stream = nullptr) {
  const unsigned int grid_extent[3] = {grid.x, grid.y, grid.z};
  const unsigned int block_extent[3] = {block.x, block.y, block.z};
  musasim_configure(grid_extent, block_extent, shared, stream);
  return true;
}

template <class T>
struct plain {
  using type = std::remove_cv_t<T>;
};

template <class T>
struct plain<T* __restrict__> {
  using type = T*;
};

template <class T>
struct plain<T* __restrict__ const> {
  using type = T*;
};

template <class... Parameters, std::size_t... Is>
void call_with(void (*function)(), void** arguments, std::index_sequence<Is...>) {
  reinterpret_cast<void (*)(Parameters...)>(function)(*static_cast<Parameters*>(arguments[Is])...);
}

// Qualifiers of a parameter itself are not part of a function's type.
template <class... Parameters>
void call(void (*function)(), void** arguments) {
  call_with<typename plain<Parameters>::type...>(function, arguments, std::index_sequence_for<Parameters...>());
}

// Not by `new`: programs in C are linked to kernels without C++'s library.
inline void* allocate(std::size_t size, std::size_t alignment) {
  void* const place = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (place == nullptr) std::abort();
  return place;
}

// The body of a kernel, as a closure over its parameters. Every thread has a copy, because a kernel may assign to its parameters.
template <class Body>
void launch(musasim_kernel& kernel, const Body& body) {
  static constexpr musasim_closure closure = {
      [](const void* data) {
        Body own(*static_cast<const Body*>(data));
        own(nullptr);
      },
      [](const void* data) -> void* {
        void* const place = allocate(sizeof(Body), alignof(Body));
        return ::new (place) Body(*static_cast<const Body*>(data));
      },
      [](void* data) {
        static_cast<Body*>(data)->~Body();
        std::free(data);
      }};
  if (musasim_count_kernel != nullptr) musasim_count_kernel(kernel.name);
#ifdef __MUSASIM_THREADS__
  constexpr auto launch_telling = &musasim_launch_threaded;
#else
  constexpr auto launch_telling = &musasim_launch_telling;
#endif
  launch_telling(
      &kernel, &body, &closure, [](void* data, musasim_parameters* asked) { (*static_cast<Body*>(data))(asked); });
}

// What a closure does that is asked for its own copies of the kernel's parameters.
template <class... Parameters>
void tell(musasim_parameters* asked, const Parameters&... each) {
  (asked->add(asked, const_cast<void*>(static_cast<const volatile void*>(&each)), sizeof(each)), ...);
}

// An error of the compiler, unless the call is in code that cannot be reached: there, a variable may have any size.
[[gnu::error("too much shared data: a block has 48 KB for __shared__ variables of fixed size")]] void refuse_shared_data();

// For a static __shared__ variable: once for each block. The last two arguments are its place, so that a message can name it.
template <class Variable>
[[gnu::always_inline]] inline void declare_shared(
    Variable& variable, unsigned long long& seen, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (sizeof(Variable) > 48 * 1024) refuse_shared_data();
  if (seen != musasim_block_serial) {
    seen = musasim_block_serial;
    musasim_declare_shared_at(const_cast<std::remove_cv_t<Variable>*>(&variable), sizeof(variable), file, line);
  }
}

template <class Reference>
using refers_to = std::remove_reference_t<Reference>;

// The same variable, of which the compiler does not know what it is.
template <class Variable>
inline Variable& unknown(Variable& variable) {
  Variable* address = &variable;
  asm("" : "+r"(address));
  return *address;
}

// What __launch_bounds__ says, which has to be known when the kernel is compiled.
template <unsigned value>
constexpr unsigned bound = value;

struct symbol {
  symbol(const volatile void* address, std::size_t bytes, const char* name) {
    musasim_register_symbol(const_cast<void*>(address), bytes, name);
  }
};

} // namespace musasim
