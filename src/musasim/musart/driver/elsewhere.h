// Work of a device that threads of their own do, outside of its streams, such as collectives. A wait for the whole device includes it.
#pragma once

#include "stream.h"

#include <cstdint>
#include <functional>

#pragma GCC visibility push(default)
namespace musart {

// `until_over` blocks the calling thread until the work is over; it may be called by several threads, and must not throw.
uint64_t begin_elsewhere(int device, std::function<void()> until_over);
void end_elsewhere(uint64_t work);

// Until everything that the device has been given before this call is over.
void wait_for_device(int device);

} // namespace musart
#pragma GCC visibility pop
