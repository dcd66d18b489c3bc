#pragma once

#include "musart/driver.h"

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

namespace musasim {

// Pinned memory is ordinary host memory that is marked as pinned in the driver.
c10::Allocator* pinned_allocator();
using musart::is_pinned;

// A copy of `stream` uses the memory with this context, which is not reused before the copy's end. False for other memory.
bool record_pinned_use(const void* context, c10::Stream stream);
void empty_pinned_cache();

void register_host_allocator();

} // namespace musasim
