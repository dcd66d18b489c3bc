// The part of the caching allocator that graphs and MemPool use: pools that allocations are redirected to.
#include "device_cache.h"

#include "capture.h"

#include <c10/util/Exception.h>

#include <algorithm>

namespace musasim {

void DeviceCache::retain_pool(PoolId id) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto& pair = private_[id];
  if (pair == nullptr) {
    pair = std::make_unique<PoolPair>(id);
  } else {
    ++pair->use_count;
  }
}

void DeviceCache::set_pool_allocator(PoolId id, AllocatorRef allocator) {
  std::lock_guard<std::mutex> lock(mutex_);
  allocators_[id] = std::move(allocator);
}

void DeviceCache::set_pool_options(PoolId id, PoolOptions options) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto& pair = *private_.at(id);
  pair.options = options;
  pair.small.no_split = pair.large.no_split = options.no_split;
}

int DeviceCache::pool_use_count(PoolId id) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = private_.find(id);
  return found == private_.end() ? 0 : found->second->use_count;
}

void DeviceCache::begin_pool(PoolId id, std::optional<c10::Stream> only, std::optional<std::thread::id> thread) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto& pair = private_[id];
  if (pair == nullptr) {
    pair = std::make_unique<PoolPair>(id);
  } else {
    TORCH_INTERNAL_ASSERT(pair->use_count > 0); // nobody may come back to a pool that all have left, while it has memory
    ++pair->use_count;
  }
  const bool is_in_use = std::any_of(redirects_.begin(), redirects_.end(), [&](const auto& each) { return each.id == id; });
  TORCH_CHECK(!is_in_use, "beginAllocateToPool: already recording to mempool_id");
  redirects_.push_back({id, only, thread});
}

void DeviceCache::end_pool(PoolId id) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = redirects_.rbegin(); it != redirects_.rend(); ++it) {
    if (it->id == id) {
      redirects_.erase(std::next(it).base());
      return;
    }
  }
  TORCH_CHECK(false, "endAllocatePool: not currently recording to mempool_id");
}

void DeviceCache::release_pool(PoolId id) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = private_.find(id);
  TORCH_INTERNAL_ASSERT(found != private_.end() && found->second->use_count > 0);
  --found->second->use_count; // its idle segments are freed at the next empty_cache or when memory is short
}

std::vector<Segment*> DeviceCache::segments_of(PoolId id) {
  std::vector<Segment*> found;
  for (const auto& [address, segment] : segments_) {
    if (segment->pool->owner == id) {
      found.push_back(segment);
    }
  }
  return found;
}

PoolState DeviceCache::pool_state(PoolId id) {
  std::lock_guard<std::mutex> lock(mutex_);
  collect_pending(nullptr);
  PoolState state{id, {}};
  for (const Segment* segment : segments_of(id)) {
    PoolState::SegmentState blocks{segment->address, {}};
    for (const Block* block = segment->first; block != nullptr; block = block->next) {
      blocks.blocks.push_back({block->size, block->requested, block->allocated, block->mapped});
    }
    state.segments.push_back(std::move(blocks));
  }
  return state;
}

// Frees every block of the pool, and divides the segments that the state knows as they were. Memory keeps its contents.
RestoredPool DeviceCache::restore_pool(const PoolState& state) {
  std::lock_guard<std::mutex> lock(mutex_);
  collect_pending(nullptr);
  RestoredPool restored;
  for (Segment* segment : segments_of(state.id)) {
    free_all(segment, restored.freed);
  }
  for (const auto& segment : state.segments) {
    const auto found = segments_.find(segment.address);
    TORCH_CHECK(
        found != segments_.end() && found->second->pool->owner == state.id,
        "setCheckpointPoolState: a segment of the pool has been freed since its state was taken");
    divide(found->second, segment, restored.allocated);
  }
  return restored;
}

void DeviceCache::free_all(Segment* segment, std::vector<char*>& freed) {
  for (Block* block = segment->first; block != nullptr;) {
    if (!block->allocated) {
      block = block->next;
      continue;
    }
    TORCH_CHECK(block->uses.empty(), "Events should have synchronized when setting checkpointed block");
    freed.push_back(block->address);
    mark_freed(block);
    return_block(block, nullptr);
    block = segment->first; // neighbours have been merged
  }
}

void DeviceCache::divide(Segment* segment, const PoolState::SegmentState& state, std::vector<Block*>& allocated) {
  Block* block = segment->first;
  for (const auto& wanted : state.blocks) {
    if (!wanted.mapped) { // the end of an expandable segment, which must not have grown
      TORCH_CHECK(block->next == nullptr);
      TORCH_CHECK(!block->mapped);
      return;
    }
    segment->pool->free.erase(block);
    count_inactive_split(block, -1);
    if (block->size > wanted.size) {
      split(block, wanted.size);
    }
    if (wanted.allocated) {
      mark_allocated(block, wanted.requested, nullptr);
      allocated.push_back(block);
    } else {
      segment->pool->keep(block);
      count_inactive_split(block, 1);
    }
    block = block->next;
  }
}

std::set<const void*> DeviceCache::live_in_pool(PoolId id) {
  std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(private_.count(id) != 0, "Could not find pool of id");
  std::set<const void*> live;
  for (const Segment* segment : segments_of(id)) {
    for (const Block* block = segment->first; block != nullptr; block = block->next) {
      if (block->allocated && !block->pending) {
        live.insert(block->address);
      }
    }
  }
  return live;
}

} // namespace musasim
