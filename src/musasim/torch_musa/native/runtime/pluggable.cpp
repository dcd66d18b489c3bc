#include "pluggable.h"

#include <c10/util/Exception.h>

#include <atomic>

namespace musasim {
namespace {

std::atomic<bool> g_used{false};

// Leaked, because memory may be freed after static destruction.
AllocatorRef& current() {
  static auto* allocator = new AllocatorRef();
  return *allocator;
}

} // namespace

AllocatorRef current_allocator() {
  return current();
}

void change_current_allocator(AllocatorRef allocator) {
  TORCH_CHECK(!g_used.load(), "Can't swap an already initialized allocator");
  current() = allocator != nullptr && allocator->alloc != nullptr ? std::move(allocator) : nullptr;
}

void mark_allocator_used() {
  g_used = true;
}

} // namespace musasim
