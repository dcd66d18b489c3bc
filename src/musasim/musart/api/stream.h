// Streams as the C API names them.
#pragma once

#include "../driver/stream.h"
#include "../include/musa_runtime_api.h"

namespace musart {

// The stream of a handle, or nullptr if there is none. 0 and the two special handles mean the current device's own.
Stream* stream_of(musaStream_t handle);

// Like stream_of(), for calls that a stream refuses while it is being captured.
musaError_t enter_stream(musaStream_t handle, Stream** stream);

} // namespace musart
