// atomicAdd and its family. Device code of one process never runs at the same time (see engine.h), so reading and writing is enough,
// unless it was compiled for blocks on several OS threads.
#pragma once

#include "musasim/device.h"

namespace musasim {

template <class T, class Function>
MUSASIM_UNCHECKED inline T atomically(T* address, Function function) {
#ifdef __MUSASIM_MEMCHECK__
  musasim_atomic(address, sizeof(T), __builtin_return_address(0));
#endif
#ifdef __MUSASIM_THREADS__
  T old, wanted;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  do {
    wanted = static_cast<T>(function(old));
  } while (!__atomic_compare_exchange(address, &old, &wanted, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
#else
  const T old = *address;
  *address = static_cast<T>(function(old));
#endif
  return old;
}

// An operation that failed to compare, or changed nothing, may be one turn of a loop that waits for another thread.
template <class T>
inline T after_waiting(T old, bool in_vain) {
  if (in_vain) musasim_yield();
  return old;
}

}  // namespace musasim

// Defines each function for the device, for a block and for the whole system.
#define MUSASIM_ATOMIC(name, type, body)                                                    \
  static inline type name(type* address, type value) body                                   \
  static inline type name##_block(type* address, type value) { return name(address, value); }  \
  static inline type name##_system(type* address, type value) { return name(address, value); }

#define MUSASIM_ATOMIC_UPDATE(name, type, of_old_and_value) \
  MUSASIM_ATOMIC(name, type, { return musasim::atomically(address, [value](type old) -> type { return of_old_and_value; }); })
// A function that leaves the memory unchanged when it is used as a read.
#define MUSASIM_ATOMIC_READABLE(name, type, of_old_and_value, reads)                                                  \
  MUSASIM_ATOMIC(name, type, {                                                                                        \
    const type before = musasim::atomically(address, [value](type old) -> type { return of_old_and_value; });            \
    return musasim::after_waiting(before, reads);                                                                        \
  })

MUSASIM_ATOMIC_READABLE(atomicAdd, int, static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(value)), value == 0)
MUSASIM_ATOMIC_READABLE(atomicAdd, unsigned int, old + value, value == 0)
MUSASIM_ATOMIC_READABLE(atomicAdd, unsigned long long, old + value, value == 0)
MUSASIM_ATOMIC_UPDATE(atomicAdd, float, old + value)
MUSASIM_ATOMIC_UPDATE(atomicAdd, double, old + value)
MUSASIM_ATOMIC_UPDATE(atomicSub, int, static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(value)))
MUSASIM_ATOMIC_UPDATE(atomicSub, unsigned int, old - value)

MUSASIM_ATOMIC_READABLE(atomicExch, int, (static_cast<void>(old), value), before == value)
MUSASIM_ATOMIC_READABLE(atomicExch, unsigned int, (static_cast<void>(old), value), before == value)
MUSASIM_ATOMIC_READABLE(atomicExch, unsigned long long, (static_cast<void>(old), value), before == value)
MUSASIM_ATOMIC_READABLE(atomicExch, float, (static_cast<void>(old), value), before == value)

#define MUSASIM_ATOMIC_EXTREMES(type)                               \
  MUSASIM_ATOMIC_UPDATE(atomicMin, type, value < old ? value : old) \
  MUSASIM_ATOMIC_UPDATE(atomicMax, type, value > old ? value : old)
MUSASIM_ATOMIC_EXTREMES(int)
MUSASIM_ATOMIC_EXTREMES(unsigned int)
MUSASIM_ATOMIC_EXTREMES(long long)
MUSASIM_ATOMIC_EXTREMES(unsigned long long)

#define MUSASIM_ATOMIC_BITS(type)                                                    \
  MUSASIM_ATOMIC_READABLE(atomicAnd, type, old & value, value == static_cast<type>(-1)) \
  MUSASIM_ATOMIC_READABLE(atomicOr, type, old | value, value == 0)                   \
  MUSASIM_ATOMIC_READABLE(atomicXor, type, old ^ value, value == 0)
MUSASIM_ATOMIC_BITS(int)
MUSASIM_ATOMIC_BITS(unsigned int)
MUSASIM_ATOMIC_BITS(long long)
MUSASIM_ATOMIC_BITS(unsigned long long)

MUSASIM_ATOMIC_UPDATE(atomicInc, unsigned int, old >= value ? 0 : old + 1)
MUSASIM_ATOMIC_UPDATE(atomicDec, unsigned int, old == 0 || old > value ? value : old - 1)

#define MUSASIM_ATOMIC_CAS(type)                                                                                         \
  static inline type atomicCAS(type* address, type compare, type value) {                                                \
    const type before = musasim::atomically(address, [=](type old) -> type { return old == compare ? value : old; });       \
    return musasim::after_waiting(before, before != compare);                                                                  \
  }                                                                                                                      \
  static inline type atomicCAS_block(type* address, type compare, type value) { return atomicCAS(address, compare, value); }  \
  static inline type atomicCAS_system(type* address, type compare, type value) { return atomicCAS(address, compare, value); }
MUSASIM_ATOMIC_CAS(unsigned short)
MUSASIM_ATOMIC_CAS(int)
MUSASIM_ATOMIC_CAS(unsigned int)
MUSASIM_ATOMIC_CAS(unsigned long long)

#undef MUSASIM_ATOMIC_EXTREMES
#undef MUSASIM_ATOMIC_BITS
#undef MUSASIM_ATOMIC_CAS
#undef MUSASIM_ATOMIC_READABLE
