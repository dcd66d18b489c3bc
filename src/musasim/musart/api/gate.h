// What every function of the C API begins with: whether it may do what it is asked for.
#pragma once

#include "../ground/last_error.h"
#include "../include/musa_runtime_api.h"

namespace musart {

// Checks whether the calling process may use a device. From the first call on, a forked child may not. If a kernel has failed
// on the device, this returns that kernel's error.
musaError_t enter();

// Like enter(), for what work of streams that waits by MUSASIM_SEED need not precede, or only some of it.
musaError_t enter_to_queue();

// Like enter(), for a launch of a graph: it lets those that wait do so. Every other call makes them run.
musaError_t enter_to_launch();

// Like enter(), for calls that no capture permits. It invalidates a capture that is running.
musaError_t enter_unsafe();
musaError_t enter_unsafe_to_queue();

} // namespace musart
