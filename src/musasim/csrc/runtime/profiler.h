#pragma once

namespace musasim {

// Gives PyTorch's profiler the device: stopwatch events for its event-based mode, and records of what ran for Kineto.
void register_profiler();

} // namespace musasim
