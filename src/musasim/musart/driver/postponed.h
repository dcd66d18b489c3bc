// MUSASIM_SEED: kernels, copies and fills of the runtime's C API wait in their streams, and run in an order that the seed chooses among those
// that streams, events and the host's waits allow. So a wait that is missing gives a wrong result with some numbers. What is to run
// before something is known by happens_before.h. To run work earlier is always allowed: whatever could not bear that it waits runs it.
//
// With a checker of memory or of streams, or MUSA_LAUNCH_BLOCKING=1, nothing waits.
#pragma once

#include <atomic>
#include <functional>

#include "stream.h"

#pragma GCC visibility push(default)
namespace musart::postponed {

bool wanted() noexcept;
void add(Stream& stream, std::function<void()> work);

extern std::atomic<int> waiting; // how many pieces of work do
void run_all() noexcept;
void run_in(const Known& known) noexcept; // those that are over where so much is known
void run_before_next_of(Stream& stream) noexcept;

inline bool any() noexcept {
  return __builtin_expect(waiting.load(std::memory_order_relaxed) != 0, 0);
}

inline void finish() noexcept {
  if (any()) run_all();
}

inline void finish_before(Stream& stream) noexcept { // before its next work, which runs at once
  if (any()) run_before_next_of(stream);
}

} // namespace musart::postponed
#pragma GCC visibility pop
