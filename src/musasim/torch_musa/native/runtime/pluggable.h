#pragma once

#include "device.h"

#include <c10/core/Allocator.h>

#include <cstddef>
#include <memory>

namespace musasim {

// An allocator that the program provides: two C functions of a shared library. If `alloc` is null, it is musasim's own.
struct PluggableAllocator {
  using Alloc = void* (*)(size_t bytes, int device, void* stream);
  using Free = void (*)(void* address, size_t bytes, int device, void* stream);

  Alloc alloc = nullptr;
  Free free = nullptr;
};

// The driver as an allocator, for memory that no cache keeps.
PluggableAllocator uncached_allocator();

// The same where torch asks for one of its own, which is for pools alone: a group's, and symmetric memory's.
struct PoolAllocator final : c10::Allocator {
  explicit PoolAllocator(PluggableAllocator own) : functions(own) {}

  c10::DataPtr allocate(size_t bytes) override;
  void copy_data(void* to, const void* from, size_t bytes) const override;

  const PluggableAllocator functions;
};

using AllocatorRef = std::shared_ptr<const PluggableAllocator>;

// The allocator that provides device memory; null for musasim's own caching allocator.
AllocatorRef current_allocator();
void change_current_allocator(AllocatorRef allocator); // raises once the allocator has been used
void mark_allocator_used();

} // namespace musasim
