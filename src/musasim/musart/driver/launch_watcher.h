// Who wants to know of each launch of a kernel: PyTorch's profiler, while it records.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>

#include "stream.h"

#pragma GCC visibility push(default)
namespace musart {

using Extents = std::array<unsigned, 3>;
constexpr Extents kNoExtent = {0, 0, 0}; // of what a library of the vendor's launches, which is not known

struct LaunchedKernel {
  const char* name;
  Extents grid;
  Extents block;
  size_t shared; // bytes of a block, of variables and dynamic memory together
  int device;
  const Stream* stream; // nullptr for the node of a graph, which runs on the current one
};

// It has to call `run`, which runs the kernel.
using LaunchWatcher = void (*)(const LaunchedKernel& kernel, const std::function<void()>& run);
extern std::atomic<LaunchWatcher> launch_watcher;

} // namespace musart
#pragma GCC visibility pop
