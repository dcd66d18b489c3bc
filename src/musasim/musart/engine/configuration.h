// What is launched: a kernel, with its extents and its memory.
#pragma once

#include <cstddef>

#include "../include/musasim/engine.h"

namespace musart {

struct Extent {
  unsigned x = 1, y = 1, z = 1;

  size_t count() const noexcept {
    return size_t{x} * y * z;
  }
};

constexpr unsigned kMaxThreads = 1024;
constexpr size_t kMostDynamicShared = 192 << 10;

struct Launch {
  musasim_kernel* kernel = nullptr;
  Extent grid;
  Extent block;
  size_t shared = 0;
  bool cooperative = false;
  bool threaded = false; // compiled so that its blocks may run at the same time
};

} // namespace musart
