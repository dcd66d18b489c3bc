#pragma once

#include "../musart/driver.h"

#include <c10/core/Allocator.h>

namespace musasim {

// Pinned memory is ordinary host memory that is marked as pinned in the driver.
c10::Allocator* pinned_allocator();
using musart::is_pinned;

void register_host_allocator();

} // namespace musasim
