#pragma once

#include "../musart/driver.h"

#include <c10/core/Allocator.h>

namespace musasim {

// Pinned memory is ordinary host memory that the driver knows to be pinned.
c10::Allocator* pinned_allocator();
using musart::is_pinned;

void register_host_allocator();

} // namespace musasim
