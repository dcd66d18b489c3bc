// Runs one block of a kernel: its threads, their barriers, and what the lanes of a warp give each other.
#pragma once

#include <string>

#include "include/musa_runtime_api.h"
#include "include/musasim/engine.h"

namespace musart {

struct Extent {
  unsigned x = 1, y = 1, z = 1;

  size_t count() const noexcept {
    return size_t{x} * y * z;
  }
};

inline Extent extent_of(const MusartExtent& from) {
  return {from.x, from.y, from.z};
}

constexpr unsigned kMaxThreads = 1024;
constexpr size_t kMostDynamicShared = 192 << 10;

struct Launch {
  musasim_kernel* kernel = nullptr;
  Extent grid;
  Extent block;
  size_t shared = 0;
  bool cooperative = false;
};

// Runs every thread of every block on the calling OS thread. Callers ensure that one launch runs at a time. Errors go to stderr.
musaError_t run_grid(const Launch& launch, const void* data, const musasim_closure& closure);

bool on_device() noexcept;

// Ends the launch that runs on this thread. A signal handler may call this.
[[noreturn]] void abandon_launch(musaError_t error);
void report(const std::string& message); // names the kernel and the thread
void report_assertion(const char* expression, const char* file, unsigned line, const char* function);
bool is_stack_overflow(const void* address) noexcept;

} // namespace musart
