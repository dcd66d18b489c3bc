// Loads and stores with a hint for the cache, __ldg, __stcs ...: the simulated device has no caches. And which memory an address is in.
#pragma once

#include <cstddef>
#include <type_traits>

#include "musasim/engine.h"
#include "vector_types.h"

namespace musasim {
// A type that a device loads or stores in one instruction; headers with numbers of their own add to them.
template <class T>
struct Loaded : std::integral_constant<bool, std::is_arithmetic<T>::value && (sizeof(T) <= 8) && !std::is_same<T, bool>::value> {};
#define MUSASIM_LOADED(name) \
  template <>                \
  struct Loaded<name> : std::true_type {};
#define MUSASIM_LOADED_PAIR_AND_FOUR(name) MUSASIM_LOADED(name##2) MUSASIM_LOADED(name##4)
MUSASIM_LOADED_PAIR_AND_FOUR(char)
MUSASIM_LOADED_PAIR_AND_FOUR(uchar)
MUSASIM_LOADED_PAIR_AND_FOUR(short)
MUSASIM_LOADED_PAIR_AND_FOUR(ushort)
MUSASIM_LOADED_PAIR_AND_FOUR(int)
MUSASIM_LOADED_PAIR_AND_FOUR(uint)
MUSASIM_LOADED_PAIR_AND_FOUR(float)
MUSASIM_LOADED(longlong2)
MUSASIM_LOADED(ulonglong2)
MUSASIM_LOADED(double2)
#undef MUSASIM_LOADED
#undef MUSASIM_LOADED_PAIR_AND_FOUR

template <class T>
using Word = std::enable_if_t<Loaded<T>::value, T>;

template <class T>
struct Same {
  using type = T;
};
}  // namespace musasim

#define MUSASIM_LOAD(name)                                   \
  template <class T>                                         \
  static inline musasim::Word<T> name(const T* address) {    \
    return *address;                                         \
  }
#define MUSASIM_STORE(name)                                                                       \
  template <class T>                                                                              \
  static inline void name(T* address, musasim::Word<typename musasim::Same<T>::type> value) {     \
    *address = value;                                                                             \
  }

MUSASIM_LOAD(__ldg)
MUSASIM_LOAD(__ldca)
MUSASIM_LOAD(__ldcg)
MUSASIM_LOAD(__ldcs)
MUSASIM_LOAD(__ldlu)
MUSASIM_LOAD(__ldcv)
MUSASIM_STORE(__stwb)
MUSASIM_STORE(__stcg)
MUSASIM_STORE(__stcs)
MUSASIM_STORE(__stwt)
#undef MUSASIM_LOAD
#undef MUSASIM_STORE

// Which memory an address is in, and its number there, which for shared memory has 32 bits.
static inline unsigned int __isShared(const void* address) { return static_cast<unsigned int>(musasim_is_shared(address)); }
static inline unsigned int __isLocal(const void* address) { return static_cast<unsigned int>(musasim_is_local(address)); }
static inline unsigned int __isGlobal(const void* address) { return !__isShared(address) && !__isLocal(address); }
static inline std::size_t __cvta_generic_to_shared(const void* address) { return musasim_shared_number(address); }
static inline std::size_t __cvta_generic_to_global(const void* address) { return reinterpret_cast<std::size_t>(address); }
static inline std::size_t __cvta_generic_to_local(const void* address) { return reinterpret_cast<std::size_t>(address); }
static inline void* __cvta_shared_to_generic(std::size_t number) { return musasim_shared_address(number); }
static inline void* __cvta_global_to_generic(std::size_t address) { return reinterpret_cast<void*>(address); }
static inline void* __cvta_local_to_generic(std::size_t address) { return reinterpret_cast<void*>(address); }
