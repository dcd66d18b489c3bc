// Copies and fills. They run at once, or become part of the graph if the stream is being captured.
#pragma once

#include <cstddef>
#include <functional>

#include "../driver/stream.h"
#include "../driver/streamcheck.h"
#include "../include/musa_runtime_api.h"

namespace musart {

// Whether a copy is one that a device could do.
musaError_t check_copy(const void* to, const void* from, size_t count, musaMemcpyKind kind);

// Does the work at once, or makes it a node of the graph if the stream is being captured.
using Accesses = std::vector<streamcheck::Access>;
musaError_t run_on(Stream* stream, const char* name, const Accesses& accesses, std::function<void()> work);

// What a copy of rows, or a fill, touches of the memory that the checker of streams knows; nothing if there is no such checker.
struct Rows {
  const void* begin;
  size_t pitch, width, height;
};
Accesses accesses_of_copy(const Rows& to, const Rows& from);
Accesses accesses_of_fill(const Rows& to);

// A copy to ordinary memory of the host is over when its call returns.
void wait_if_unpinned(Stream* stream, const void* to);

} // namespace musart
