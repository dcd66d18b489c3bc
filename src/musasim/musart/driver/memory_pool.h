// Pools: how much memory of a device is kept for allocations in the order of streams. An allocation itself is like any other
// (memory.h), at an address of its own; what is given back is counted as the pool's until it is trimmed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#pragma GCC visibility push(default)
namespace musart {

// The host has waited for work of the device: what its pools hold beyond their thresholds goes back.
void trim_after_wait(int device);

} // namespace musart
#pragma GCC visibility pop

namespace musart {

struct Amount {
  uint64_t now = 0, most = 0; // the most since it was reset

  void change(uint64_t to);
};

struct MemoryPool {
  int device;
  bool is_default;
  std::map<int, int> reuse; // by the attribute: where freed memory may be taken again
  std::map<int, int> access; // of other devices
  uint64_t threshold = 0; // how much a wait leaves to it
  Amount reserved, used;
  bool is_destroyed = false; // but for what is still in use
};

constexpr uint64_t kPoolUnit = 512; // allocations are counted in these

MemoryPool& default_pool(int device);
MemoryPool& current_pool(int device);
MemoryPool* find_pool(const void* handle); // nullptr if there is none
MemoryPool* create_pool(int device);
bool destroy_pool(MemoryPool& pool); // false for a default one
void use_pool(MemoryPool& pool); // for its device, from now on
void trim(MemoryPool& pool, uint64_t keep);
void reset_pools(int device); // every allocation is freed, and the pools are what they are at the beginning

void* allocate_from(MemoryPool& pool, size_t bytes); // nullptr when the device is full
bool give_back_to_pool(void* base); // false if it is from none

} // namespace musart
