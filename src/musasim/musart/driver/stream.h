// Streams, which are clocks.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#pragma GCC visibility push(default)
namespace musart {

struct Capture;

// MUSASIM_STREAMCHECK=1: how much of each stream's work is over, by the stream's number (happens_before.h).
using Known = std::vector<uint32_t>;

// Kernels run at once on the calling thread, so a stream is only a clock: `busy_until` says when the work queued on it
// would be done. So query, wait and elapsed time are correct without worker threads.
struct Stream {
  std::atomic<int64_t> busy_until{0};
  std::atomic<Capture*> capture{nullptr};
  int priority = 0;
  int device = -1;
  bool blocking = false; // whether the default stream waits for it
  int number = -1; // in Known; -1 before its first work
  Known known; // what its next work comes after
};

constexpr int kHighestPriority = -1;

int64_t now_ns() noexcept;
void wait_until(int64_t when_ns);
int64_t completion_ns(const Stream& stream);
void wait_for(Stream& stream, int64_t when_ns); // the stream, not the host

Stream& default_stream(int device);
Stream* create_stream(int device, int priority, bool blocking);
void enlist(Stream& stream); // registers the address of a stream that other code owns
Stream* find_stream(const void* handle); // nullptr if no stream has this address
bool destroy_stream(const void* handle);
int64_t last_completion(int device, bool blocking_only);

} // namespace musart
#pragma GCC visibility pop
