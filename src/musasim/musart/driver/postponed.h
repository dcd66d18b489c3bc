// MUSASIM_SEED: kernels, copies, fills and PyTorch's operators wait in their streams, and run in an order that the seed chooses among those
// that streams, events and the host's waits allow. So a wait that is missing gives a wrong result with some numbers. What is to run
// before something is known by happens_before.h. To run work earlier is always allowed: whatever could not bear that it waits runs it.
//
// With a checker of memory or of streams, or MUSA_LAUNCH_BLOCKING=1, nothing waits, and neither does what such work does itself.
#pragma once

#include <atomic>
#include <exception>
#include <functional>

#include "stream.h"

#pragma GCC visibility push(default)
namespace musart::postponed {

bool wanted() noexcept;
bool runs_here() noexcept; // whether this thread runs one that has waited
void add(Stream& stream, std::function<void()> work); // what the work throws is kept

extern std::atomic<bool> has_error;
std::exception_ptr take_error() noexcept; // the first one

// While one lives, work that nobody asks for does not run by itself: the host is busy.
class Busy {
 public:
  Busy() noexcept;
  ~Busy();
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
};

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
