// The parts of the simulated device besides the libraries that every kernel has: indices, barriers, fences, traps. C++17.
#pragma once

#include "musasim/engine.h"
#include "vector_types.h"

#pragma GCC visibility push(default)
#ifdef __MUSASIM_THREADS__
MUSASIM_OWN const uint3 threadIdx __asm__("musasim_own_thread_index");
MUSASIM_OWN const uint3 blockIdx __asm__("musasim_own_block_index");
#else
extern const uint3 threadIdx __asm__("musasim_thread_index");
extern const uint3 blockIdx __asm__("musasim_block_index");
#endif
extern const dim3 blockDim __asm__("musasim_block_extent");
extern const dim3 gridDim __asm__("musasim_grid_extent");
#pragma GCC visibility pop

constexpr int warpSize = MUSASIM_WARP_SIZE;

// The last two arguments are the place of the call, so that a message can name it.
static inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  musasim_barrier(0, file, line);
}

// The barrier of MUSA's own that torch_musa's kernels wait at for shared memory ("local" memory).
static inline void __syncthreads_lm(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  musasim_barrier(0, file, line);
}

static inline int __syncthreads_count(int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return static_cast<int>(musasim_barrier(predicate, file, line).count);
}

static inline int __syncthreads_and(int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const musasim_votes votes = musasim_barrier(predicate, file, line);
  return votes.count == votes.total ? 1 : 0;
}

static inline int __syncthreads_or(int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return musasim_barrier(predicate, file, line).count != 0 ? 1 : 0;
}

static inline void __syncwarp(unsigned int mask = 0xffffffffu) {
  musasim_exchange(mask, nullptr, 0, "__syncwarp");
}

static inline unsigned int __activemask(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return musasim_converge(file, line);
}

// Other threads of an OS thread see a write at once, so this only keeps the compiler from moving it.
static inline void __threadfence() {
#ifdef __MUSASIM_THREADS__
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
#ifdef __MUSASIM_MEMCHECK__
  musasim_atomic(nullptr, 0, nullptr);
#endif
  __asm__ __volatile__("" ::: "memory");
}

static inline void __threadfence_block() {
  __threadfence();
}

static inline void __threadfence_system() {
  __threadfence();
}

static inline void __nanosleep(unsigned int) {
  musasim_yield();
}

[[noreturn]] static inline void __trap() {
  musasim_fault(719, "__trap()");
}

// The device's clock counts nanoseconds here.
static inline long long clock64() {
  return musasim_clock_ns();
}
