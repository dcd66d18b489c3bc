// MUSASIM_MEMCHECK=1: looks at each access to memory of kernels that mcc has compiled with the same setting.
#pragma once

#include <cstddef>

#pragma GCC visibility push(default)
namespace musart::memcheck {

bool enabled() noexcept;

// Bytes that stay free behind each allocation.
constexpr size_t kRedZone = 512;

// A program has got, or given back, memory of the device: exactly what it asked for.
void use(void* address, size_t bytes);
void give_up(void* address);

} // namespace musart::memcheck
#pragma GCC visibility pop

namespace musart {

// What orders the accesses of threads: called by the scheduler.
struct CheckedThread {
  unsigned block[3], thread[3];
  unsigned number, warp;
};
bool checked_thread(CheckedThread* where); // of the running thread; false if there is none
bool is_shared(const void* address); // in a __shared__ variable of the running block
bool is_on_stack(const void* address); // of the running thread
const char* checked_kernel();

namespace memcheck {
void begin_launch(unsigned threads);
void enter_block(unsigned long long serial);
void barrier(); // all threads of the running block have met
void warp_round(unsigned warp); // lanes of a warp have met
void end_launch(); // writes what was found to stderr
} // namespace memcheck
} // namespace musart
