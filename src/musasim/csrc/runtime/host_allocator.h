#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>

namespace musasim {

// Pinned memory is ordinary host memory that is known to be pinned.
c10::Allocator* pinned_allocator();
bool is_pinned(const void* ptr);

// Pages that the program registers itself, as musaHostRegister does. False when the range is taken or unknown.
bool register_host_range(const void* ptr, size_t bytes);
bool unregister_host_range(const void* ptr);

void register_host_allocator();

} // namespace musasim
