// Copies and fills. They run at once, or become part of the graph if the stream is being captured.
#pragma once

#include <cstddef>
#include <functional>

#include "../driver/stream.h"
#include "../include/musa_runtime_api.h"

namespace musart {

// Whether a copy is one that a device could do.
musaError_t check_copy(const void* to, const void* from, size_t count, musaMemcpyKind kind);

// Does the work at once, or makes it a node of the graph if the stream is being captured.
musaError_t run_on(Stream* stream, const char* name, std::function<void()> work);

} // namespace musart
