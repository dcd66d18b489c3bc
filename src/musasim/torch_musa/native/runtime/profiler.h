#pragma once

namespace musasim {

// Registers the device with PyTorch's profiler: events for its event-based mode, and records of kernels for Kineto.
void register_profiler();

} // namespace musasim
