#pragma once

#include "musart/driver.h"

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Stream.h>

namespace musasim {

// Pinned memory is ordinary host memory that is marked as pinned in the driver.
c10::Allocator* pinned_allocator();
using musart::is_pinned;

// A copy of `stream` uses the memory with this context, which is not reused before the copy's end. False for other memory.
bool record_pinned_use(const void* context, c10::Stream stream);
void empty_pinned_cache();

// How often one function of the driver was called, and how long that took, in microseconds.
struct CallTimes {
  int64_t total = 0, longest = 0, shortest = 0, count = 0;
  void add(int64_t microseconds);
};

struct PinnedStats {
  c10::CachingAllocator::Stat blocks, bytes; // taken from the driver, in use or not
  c10::CachingAllocator::Stat used_blocks, used_bytes;
  CallTimes taking, releasing;
};

PinnedStats pinned_stats();
void reset_accumulated_pinned_stats();
void reset_peak_pinned_stats();

void register_host_allocator();

} // namespace musasim
