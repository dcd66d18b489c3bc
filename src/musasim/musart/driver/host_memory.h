// Pinned memory is ordinary host memory that is marked as pinned.
#pragma once

#include <cstddef>

#pragma GCC visibility push(default)
namespace musart {

void* allocate_pinned(size_t bytes);
bool release_pinned(void* pointer);
bool is_pinned(const void* pointer);
bool owns_pinned(const void* pointer); // allocated here, in pages of its own if the checker of streams is on
bool register_host_range(const void* pointer, size_t bytes); // false when part of it is registered already
bool unregister_host_range(const void* pointer);

} // namespace musart
#pragma GCC visibility pop
