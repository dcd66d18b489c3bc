// Threads of execution that take turns on one OS thread. They run a block's threads.
#pragma once

#include <cstddef>

namespace musart {

constexpr size_t kFiberStack = 256 << 10; // pages are committed on first use

struct Fiber {
  void* stack_pointer = nullptr;
  char* stack = nullptr; // its lowest address; a guard page lies below
  char* top = nullptr; // where it begins
};

// Makes `fiber` start in `entry` when it is next switched to. `entry` must not return.
bool prepare(Fiber& fiber, void (*entry)());

// Saves the caller's stack pointer in `*from`, and continues where `to` was saved.
extern "C" void musart_switch_stacks(void** from, void* to) __attribute__((visibility("hidden")));

inline void switch_stacks(void** from, void* to) {
  musart_switch_stacks(from, to);
}

} // namespace musart
