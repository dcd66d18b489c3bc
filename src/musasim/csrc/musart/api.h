// What the functions of the C API begin and end with.
#pragma once

#include "driver.h"
#include "include/musa_runtime_api.h"

namespace musart {

// Remembers an error for musaGetLastError and passes it on; success changes nothing.
musaError_t remember(musaError_t error) noexcept;

// Whether the calling process may use a device at all. From the first call on, a forked child may not. A device that a kernel
// has failed on gives that kernel's error.
musaError_t enter();

// As enter(), for calls that no capture permits; spoils the capture that is under way.
musaError_t enter_unsafe();

// The stream of a handle, nullptr when there is none such. 0 and the two special handles are the current device's own.
Stream* stream_of(musaStream_t handle);

// As stream_of(), for calls that a stream which is being captured refuses.
musaError_t enter_stream(musaStream_t handle, Stream** stream);

// Whether a copy is one that a device could do.
musaError_t check_copy(const void* to, const void* from, size_t count, musaMemcpyKind kind);

// Does the work at once, or makes it a node of the graph where the stream is being captured.
musaError_t run_on(Stream* stream, const char* name, std::function<void()> work);

inline bool is_device(int device) noexcept {
  return device >= 0 && device < device_count();
}

} // namespace musart
