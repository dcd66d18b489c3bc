// The functions that begin and end each function of the C API.
#pragma once

#include "driver.h"
#include "include/musa_runtime_api.h"

namespace musart {

// Remembers an error for musaGetLastError and passes it on; success changes nothing.
musaError_t remember(musaError_t error) noexcept;

// Checks whether the calling process may use a device. From the first call on, a forked child may not. If a kernel has failed
// on the device, this returns that kernel's error.
musaError_t enter();

// Like enter(), for a launch of a graph: it lets those that wait do so. Every other call makes them run.
musaError_t enter_to_launch();

// Like enter(), for calls that no capture permits. It invalidates a capture that is running.
musaError_t enter_unsafe();

// The stream of a handle, or nullptr if there is none. 0 and the two special handles mean the current device's own.
Stream* stream_of(musaStream_t handle);

// Like stream_of(), for calls that a stream refuses while it is being captured.
musaError_t enter_stream(musaStream_t handle, Stream** stream);

// Whether a copy is one that a device could do.
musaError_t check_copy(const void* to, const void* from, size_t count, musaMemcpyKind kind);

// Does the work at once, or makes it a node of the graph if the stream is being captured.
musaError_t run_on(Stream* stream, const char* name, std::function<void()> work);

// A node of a graph, by the address that musaGraphGetNodes gave; and that of an executable which was made of it. nullptr if there is none.
const Capture::Node* find_node(const void* handle);
const Capture::Node* find_node_of(const void* executable, const void* handle);

inline bool is_device(int device) noexcept {
  return device >= 0 && device < device_count();
}

} // namespace musart
