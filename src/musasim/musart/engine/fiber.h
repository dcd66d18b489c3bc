// Threads of execution that take turns on one OS thread. They run a block's threads.
#pragma once

#include <cstddef>

namespace musart {

constexpr size_t kFiberStack = 256 << 10; // pages are committed on first use

struct Fiber {
  void* stack_pointer = nullptr;
  char* stack = nullptr; // its lowest address; a guard page lies below
};

// Makes `fiber` start in `entry` when it is next switched to. `entry` must not return.
bool prepare(Fiber& fiber, void (*entry)());

// Saves the caller's stack pointer in `*from`, and continues where `to` was saved.
void switch_stacks(void** from, void* to);

} // namespace musart
