#include "memory_pool.h"

#include "memory.h"
#include "postponed.h"
#include "virtual_memory.h"

#include <algorithm>
#include <mutex>

namespace musart {
namespace {

struct Taken {
  MemoryPool* pool;
  uint64_t bytes;
};

struct Pools {
  std::recursive_mutex mutex;
  std::map<const void*, MemoryPool*> known; // by their handles, the default ones too
  std::map<int, MemoryPool*> defaults, current; // by device
  std::map<const void*, Taken> blocks; // what is in use, by address
};

Pools& pools() {
  static auto* all = new Pools();
  return *all;
}

using Lock = std::lock_guard<std::recursive_mutex>;

MemoryPool* add_pool(int device, bool is_default) {
  auto* made = new MemoryPool{device, is_default, {}, {}, 0, {}, {}};
  pools().known[made] = made;
  return made;
}

uint64_t whole(uint64_t bytes, uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

bool grow(MemoryPool& pool, uint64_t needed) {
  const uint64_t wanted = whole(needed, kGranularity);
  if (wanted <= pool.reserved.now) {
    return true;
  }
  if (!take_memory(pool.device, wanted - pool.reserved.now)) {
    return false;
  }
  pool.reserved.change(wanted);
  return true;
}

void drop_if_over(MemoryPool& pool) {
  if (pool.is_destroyed && pool.used.now == 0) {
    trim(pool, 0);
    delete &pool;
  }
}

} // namespace

void Amount::change(uint64_t to) {
  now = to;
  most = std::max(most, now);
}

MemoryPool& default_pool(int device) {
  const Lock lock(pools().mutex);
  auto& found = pools().defaults[device];
  if (found == nullptr) {
    found = add_pool(device, true);
  }
  return *found;
}

MemoryPool& current_pool(int device) {
  const Lock lock(pools().mutex);
  const auto found = pools().current.find(device);
  return found == pools().current.end() ? default_pool(device) : *found->second;
}

MemoryPool* find_pool(const void* handle) {
  const Lock lock(pools().mutex);
  const auto found = pools().known.find(handle);
  return found == pools().known.end() ? nullptr : found->second;
}

MemoryPool* create_pool(int device) {
  const Lock lock(pools().mutex);
  return add_pool(device, false);
}

bool destroy_pool(MemoryPool& pool) {
  const Lock lock(pools().mutex);
  if (pool.is_default) {
    return false;
  }
  pools().known.erase(&pool);
  if (&current_pool(pool.device) == &pool) {
    pools().current.erase(pool.device);
  }
  pool.is_destroyed = true;
  drop_if_over(pool);
  return true;
}

void use_pool(MemoryPool& pool) {
  const Lock lock(pools().mutex);
  pools().current[pool.device] = &pool;
}

void trim(MemoryPool& pool, uint64_t keep) {
  const Lock lock(pools().mutex);
  const uint64_t left = whole(std::max(pool.used.now, std::min(keep, pool.reserved.now)), kGranularity);
  if (left < pool.reserved.now) {
    give_memory_back(pool.device, pool.reserved.now - left);
    pool.reserved.change(left);
  }
}

void trim_after_wait(int device) {
  const Lock lock(pools().mutex);
  for (const auto& [handle, pool] : pools().known) {
    if (pool->device == device) {
      trim(*pool, pool->threshold);
    }
  }
}

void reset_pools(int device) {
  const Lock lock(pools().mutex);
  auto& blocks = pools().blocks;
  for (auto at = blocks.begin(); at != blocks.end();) {
    const auto block = at++;
    if (block->second.pool->device == device) {
      give_back_to_pool(const_cast<void*>(block->first));
    }
  }
  auto& known = pools().known;
  for (auto at = known.begin(); at != known.end();) {
    const auto found = at++;
    if (found->second->device == device) {
      trim(*found->second, 0);
      delete found->second;
      known.erase(found);
    }
  }
  pools().defaults.erase(device);
  pools().current.erase(device);
}

void* allocate_from(MemoryPool& pool, size_t bytes) {
  const Lock lock(pools().mutex);
  const uint64_t units = whole(bytes, kPoolUnit);
  if (units < bytes || !grow(pool, pool.used.now + units)) {
    return nullptr;
  }
  void* const made = allocate(pool.device, bytes, Owner::Pool);
  if (made != nullptr) {
    pool.used.change(pool.used.now + units);
    pools().blocks[made] = {&pool, units};
  }
  return made;
}

bool give_back_to_pool(void* base) {
  postponed::finish(); // not under the lock
  const Lock lock(pools().mutex);
  const auto found = pools().blocks.find(base);
  if (found == pools().blocks.end()) {
    return false;
  }
  auto& [pool, bytes] = found->second;
  release(base, Owner::Pool);
  pool->used.change(pool->used.now - bytes);
  auto& left = *pool;
  pools().blocks.erase(found);
  drop_if_over(left);
  return true;
}

} // namespace musart
