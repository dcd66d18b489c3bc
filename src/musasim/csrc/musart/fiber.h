// Threads of execution that take turns on one OS thread: what a block's threads are made of.
#pragma once

#include <cstddef>

namespace musart {

constexpr size_t kFiberStack = 256 << 10; // committed as it is touched

struct Fiber {
  void* stack_pointer = nullptr;
  char* stack = nullptr; // its lowest address; a page that nobody may touch lies below
};

// Makes `fiber` start in `entry` when it is next switched to. `entry` must not return.
bool prepare(Fiber& fiber, void (*entry)());

// Saves where the caller is in `*from`, goes on where `to` was saved.
void switch_stacks(void** from, void* to);

} // namespace musart
