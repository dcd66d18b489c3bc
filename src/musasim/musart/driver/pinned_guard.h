// MUSASIM_STREAMCHECK=1: pinned memory that copies are still busy with, as far as the host may know. The host cannot reach it, by the
// processor's own protection of pages, so that whoever tries is seen.
#pragma once

#include "happens_before.h"
#include "stream_findings.h"

#pragma GCC visibility push(default)
namespace musart::streamcheck {

// While it lives, this thread does a device's work, which may reach everything. Other threads may help it with the memory that is named.
class AsDevice {
 public:
  explicit AsDevice(const void* begin = nullptr, size_t bytes = 0);
  ~AsDevice();
  AsDevice(const AsDevice&) = delete;
  AsDevice& operator=(const AsDevice&) = delete;
};

} // namespace musart::streamcheck
#pragma GCC visibility pop

namespace musart::streamcheck {

void guard_pinned(const void* begin, size_t bytes, const Moment& work, Site site, bool device_writes);
void open_finished_pinned(); // the host has waited
void open_pinned(const void* begin, size_t bytes); // the memory is used for something else from now on
// Whether a bad address is one of a guarded page. If so it can be reached from now on, and a fault of the host is told.
bool reach_pinned(const void* address);

} // namespace musart::streamcheck
