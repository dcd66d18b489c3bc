// Loads and stores with a hint for the cache: __ldg, __stcs ... The simulated device has no caches.
#pragma once

#include <type_traits>

namespace musasim {
// A type that a device loads or stores in one instruction.
template <class T>
using Word = std::enable_if_t<std::is_trivially_copyable<T>::value && (sizeof(T) <= 16) && (sizeof(T) & (sizeof(T) - 1)) == 0, T>;

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
