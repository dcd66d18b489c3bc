/* How compiled kernels and libmusart.so speak to each other. Kernels' authors use musasim/device.h; device headers, that and this.

   A block's threads are fibers on one OS thread, and one kernel runs at a time in a process. So device code needs no
   atomic instructions against other device code: a read and a write are atomic unless a wait lies between them. Nothing but
   the functions that say so waits, which is to let other threads of the block run.

   Kernels that are compiled with __MUSASIM_THREADS__ (MUSASIM_THREADS at a build) may have their blocks run on several OS threads:
   where a thread is and __shared__ variables are those of the OS thread, and atomic functions are atomic instructions. */
#pragma once

#include <stddef.h>

#define MUSASIM_WARP_SIZE 32 /* of mp_31; the simulated device has no other */

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct MUstream_st;

/* A function whose accesses MUSASIM_MEMCHECK does not look at, because it says itself what it does. */
#ifdef __MUSASIM_MEMCHECK__
#define MUSASIM_UNCHECKED __attribute__((no_sanitize("kernel-address"), noinline))
#else
#define MUSASIM_UNCHECKED
#endif

#ifdef __cplusplus
#define MUSASIM_NOEXCEPT noexcept
#else
#define MUSASIM_NOEXCEPT
#endif

/* --- where a thread is. Constant while it runs: the scheduler writes them when it changes threads. ---------------------- */

#if defined(__MUSASIM_THREADS__)
#define MUSASIM_OWN extern __thread __attribute__((tls_model("initial-exec")))
MUSASIM_OWN const unsigned int musasim_lane __asm__("musasim_own_lane");
MUSASIM_OWN const unsigned int musasim_warp __asm__("musasim_own_warp");
MUSASIM_OWN const unsigned long long musasim_block_serial __asm__("musasim_own_block_serial");
MUSASIM_OWN char* const musasim_dynamic_shared __asm__("musasim_own_dynamic_shared");
extern const unsigned int musasim_dynamic_shared_bytes;
#elif !defined(MUSASIM_ENGINE_ITSELF)
extern const unsigned int musasim_lane; /* 0 .. 31; a block's threads are numbered with x running fastest */
extern const unsigned int musasim_warp; /* the warp's number in its block */
extern const unsigned int musasim_dynamic_shared_bytes; /* of this launch */
extern const unsigned long long musasim_block_serial; /* no two blocks of a process have the same */
#endif
#ifndef __MUSASIM_THREADS__
extern char musasim_dynamic_shared[]; /* aligned to 1024; at the same address in every launch */
#endif

/* True while the calling OS thread executes a kernel. */
int musasim_on_device(void);

/* Nanoseconds of a clock that never goes back. */
long long musasim_clock_ns(void);

/* --- what ends a launch -------------------------------------------------------------------------------------------------- */

/* Ends the launch, and the device has `error` (a musaError_t) from then on. `message` goes to stderr, with the kernel's
   name and the thread's indices. */
void musasim_fault(int error, const char* message) __attribute__((noreturn));

/* As glibc's __assert_fail; outside kernels, the same. */
void musasim_assert_fail(const char* expression, const char* file, unsigned int line, const char* function)
    MUSASIM_NOEXCEPT __attribute__((noreturn));

/* --- what waits ------------------------------------------------------------------------------------------------------------ */

struct musasim_votes {
  unsigned int count; /* of the threads with a non-zero predicate */
  unsigned int total; /* of the threads that arrived */
};

/* Waits for every thread of the block that has not returned. Threads that wait at different `file`:`line` are a divergent
   barrier, which is a fault. */
struct musasim_votes musasim_barrier(int predicate, const char* file, int line);

/* What the lanes of a warp gave each other: slot[lane] is valid for the lanes in `lanes` alone. */
struct musasim_round {
  unsigned int lanes;
  unsigned int votes; /* of musasim_vote */
  unsigned int reserved[2];
  unsigned char slot[MUSASIM_WARP_SIZE][16] __attribute__((aligned(16)));
};

/* Waits for every lane in `mask` of the calling thread's warp that has not returned (a returned lane is not in the round),
   and shares `bytes`, at most 16, from each; larger values take several exchanges. The result is valid until the calling
   thread's next exchange or converge. `what` names the operation, as in "__shfl_sync". Lanes that name the same mask and
   another operation, and a mask without the calling lane, are faults. */
const struct musasim_round* musasim_exchange(unsigned int mask, const void* value, size_t bytes, const char* what);

/* The same for a bit of each lane, in `votes`. */
const struct musasim_round* musasim_vote(unsigned int mask, int predicate, const char* what);

/* The lanes that are together here: every lane of the warp that gets to this file:line before it must wait for something
   else. For __activemask() and coalesced groups. */
unsigned int musasim_converge(const char* file, int line);

/* Waits for every thread of every block. In a launch that is not cooperative, a fault. */
void musasim_grid_barrier(void);

/* Lets the other threads of the block run: for loops that wait until another thread has written something. */
void musasim_yield(void);

/* --- launches: what mcc makes of kernels and of <<<...>>> ----------------------------------------------------------------- */

/* One for each kernel (each instance of a template), in the object that holds its code. */
struct musasim_kernel {
  const char* name;
  unsigned int max_threads; /* of __launch_bounds__; 0: not said */
  unsigned int min_blocks;
  const char* architectures; /* the object was compiled for, as in "22 31" */
  void (*call)(void (*function)(void), void** arguments); /* calls the kernel's function with *arguments[0], ... */
  unsigned int static_shared; /* bytes, as far as known: what threads have declared so far */
  unsigned int dynamic_limit; /* set by musaFuncSetAttribute; 0: the usual */
  int carveout;
};

/* One launch's code and arguments. */
struct musasim_closure {
  void (*run)(const void* data); /* executes one thread */
  void* (*copy)(const void* data);
  void (*destroy)(void* data);
};

/* What a closure's copies of a kernel's parameters are asked by; `add` is called for each, in their order. */
struct musasim_parameters {
  void (*add)(struct musasim_parameters* self, void* address, size_t bytes);
};

/* Remembers what stands between <<< and >>> for the kernel that is called next. */
void musasim_configure(const unsigned int grid[3], const unsigned int block[3], size_t shared, struct MUstream_st* stream);

/* First thing in a kernel's function: true when it was called to be described, not to be launched. */
int musasim_asked(struct musasim_kernel* kernel);

/* Launches with the configuration that was set last. Errors are left for musaGetLastError. */
void musasim_launch(struct musasim_kernel* kernel, const void* data, const struct musasim_closure* closure);

/* The same for a closure that tells its parameters, which nodes of graphs are asked for. */
void musasim_launch_telling(struct musasim_kernel* kernel, const void* data, const struct musasim_closure* closure,
    void (*tell)(void* data, struct musasim_parameters* parameters));

/* The same for a kernel that is compiled with __MUSASIM_THREADS__. */
void musasim_launch_threaded(struct musasim_kernel* kernel, const void* data, const struct musasim_closure* closure,
    void (*tell)(void* data, struct musasim_parameters* parameters));

/* What each thread says of the static __shared__ variables that it passes. The first of a block fills them with 0xff: what is
   read before it is written shall not look like a good value. */
void musasim_declare_shared_at(void* address, size_t bytes, const char* file, int line);
void musasim_declare_shared(void* address, size_t bytes);

/* Whether the calling thread's block has this address in its shared memory, or the thread has it in its own. */
int musasim_is_shared(const void* address);
int musasim_is_local(const void* address);

/* The number by which the block's shared memory knows an address, which fits in 32 bits, and the other way round. Anything else is
   its own number. */
size_t musasim_shared_number(const void* address);
void* musasim_shared_address(size_t number);

/* Before an atomic function changes memory, and with 0 bytes at a fence: MUSASIM_MEMCHECK takes threads that call this for ordered.
   `caller` is where the program calls the function. */
void musasim_atomic(const void* address, size_t bytes, const void* caller);

/* Makes a __device__, __constant__ or __managed__ variable known. */
void musasim_register_symbol(void* address, size_t bytes, const char* name);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
