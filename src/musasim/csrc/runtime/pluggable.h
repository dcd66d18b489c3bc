#pragma once

#include "device.h"

#include <cstddef>
#include <memory>

namespace musasim {

// An allocator that the program brings: two C functions of a shared library. `alloc` null stands for musasim's own.
struct PluggableAllocator {
  using Alloc = void* (*)(size_t bytes, int device, void* stream);
  using Free = void (*)(void* address, size_t bytes, int device, void* stream);

  Alloc alloc = nullptr;
  Free free = nullptr;
};

using AllocatorRef = std::shared_ptr<const PluggableAllocator>;

// Who provides device memory; null for musasim's own caching allocator.
AllocatorRef current_allocator();
void change_current_allocator(AllocatorRef allocator); // raises once the allocator has been used
void mark_allocator_used();

} // namespace musasim
