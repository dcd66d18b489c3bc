#include "device_cache.h"

#include "allocator_settings.h"
#include "capture.h"
#include "../musart/memcheck.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdio>

namespace musasim {
namespace {

constexpr size_t kRounding = 512;
constexpr size_t kSmallLimit = size_t{1} << 20;
constexpr size_t kSmallSegment = size_t{2} << 20;
constexpr size_t kMediumLimit = size_t{10} << 20;
constexpr size_t kMediumSegment = size_t{20} << 20;

constexpr size_t round_up(size_t value, size_t unit) {
  return (value + unit - 1) / unit * unit;
}

size_t segment_size(size_t size) {
  if (size <= kSmallLimit) {
    return kSmallSegment;
  }
  return size < kMediumLimit ? kMediumSegment : round_up(size, kSmallSegment);
}

std::string readable(size_t bytes) {
  char text[32];
  if (bytes < 1024) {
    std::snprintf(text, sizeof(text), "%zu bytes", bytes);
    return text;
  }
  const char* unit = bytes < (size_t{1} << 20) ? "KiB" : bytes < (size_t{1} << 30) ? "MiB" : "GiB";
  const double scale = bytes < (size_t{1} << 20) ? 1024.0 : bytes < (size_t{1} << 30) ? 1048576.0 : 1073741824.0;
  std::snprintf(text, sizeof(text), "%.2f %s", static_cast<double>(bytes) / scale, unit);
  return text;
}

std::mutex g_observer_mutex;
std::vector<OutOfMemoryObserver>& observers() {
  static auto* all = new std::vector<OutOfMemoryObserver>();
  return *all;
}

bool is_split(const Block* block) {
  return block->previous != nullptr || block->next != nullptr;
}

bool is_oversize(const Block* block) {
  return block->size >= max_split_size();
}

// Cached segments of `pool` that are free as a whole and whose age, in requests, is at least their average.
std::vector<Segment*> old_segments(const BlockPool& pool) {
  std::vector<Segment*> whole;
  uint64_t total = 0;
  for (const Block* block : pool.free) {
    if (!is_split(block)) {
      whole.push_back(block->segment);
      total += pool.requests - block->freed_at;
    }
  }
  const auto young = [&](const Segment* segment) {
    return (pool.requests - segment->first->freed_at) * whole.size() < total;
  };
  std::vector<Segment*> old;
  std::copy_if(whole.begin(), whole.end(), std::back_inserter(old), [&](auto* segment) { return !young(segment); });
  return old;
}

} // namespace

void attach_oom_observer(OutOfMemoryObserver observer) {
  std::lock_guard<std::mutex> lock(g_observer_mutex);
  observers().push_back(std::move(observer));
}

template <typename Change>
void DeviceCache::for_stats(const BlockPool& pool, Change change) {
  change(0);
  change(pool.small ? 1 : 2);
}

void DeviceCache::count_inactive_split(const Block* block, int sign) {
  if (block->allocated || !is_split(block)) {
    return;
  }
  for_stats(*block->segment->pool, [&](int i) {
    if (sign > 0) {
      stats_.inactive_split[i].increase(1);
      stats_.inactive_split_bytes[i].increase(block->size);
    } else {
      stats_.inactive_split[i].decrease(1);
      stats_.inactive_split_bytes[i].decrease(block->size);
    }
  });
}

void DeviceCache::attach(c10::DeviceIndex device) {
  device_ = device;
}

Block* DeviceCache::allocate(size_t bytes, c10::Stream stream) {
  const size_t red_zone = musart::memcheck::enabled() ? musart::memcheck::kRedZone : 0;
  const size_t size = allocation_size(bytes + red_zone);
  auto context = gather_context(Gather::State);
  std::unique_lock<std::mutex> lock(mutex_);
  collect_pending(context);
  auto& pool = pool_for(size, stream);
  Block* block = take_cached(pool, size, stream);
  if (block == nullptr) {
    block = take_from_device(pool, size, stream, context);
  }
  if (block == nullptr) {
    raise_out_of_memory(size, stream, std::move(context), lock);
  }
  return hand_out(block, size, bytes, std::move(context));
}

BlockPool& DeviceCache::pool_for(size_t size, c10::Stream stream) {
  PoolPair* pair = &default_;
  for (auto it = redirects_.rbegin(); it != redirects_.rend() && pair == &default_; ++it) {
    const bool stream_matches = !it->only.has_value() || *it->only == stream || is_capturing(stream);
    if (stream_matches) {
      pair = private_.at(it->id).get();
    }
  }
  return size <= kSmallLimit ? pair->small : pair->large;
}

Block* DeviceCache::take_cached(BlockPool& pool, size_t size, c10::Stream stream) {
  Segment key_segment{&pool, stream.id(), nullptr, 0, nullptr, nullptr};
  Block key{&key_segment, nullptr, size};
  pool.requests += collects_garbage() ? 1 : 0;
  const auto found = pool.free.lower_bound(&key);
  if (found == pool.free.end() || (*found)->segment->stream != stream.id()) {
    return nullptr;
  }
  Block* block = *found;
  const bool too_large = size < max_split_size() ? is_oversize(block) : block->size >= size + kMediumSegment;
  if (too_large) {
    return nullptr;
  }
  pool.free.erase(found);
  count_inactive_split(block, -1);
  return block;
}

Block* DeviceCache::take_from_device(BlockPool& pool, size_t size, c10::Stream stream, const Context& context) {
  const size_t bytes = segment_size(size);
  if (collects_garbage()) {
    collect_garbage(context);
  }
  Block* block = new_segment(pool, bytes, stream, context);
  if (block == nullptr && release_oversize(pool, size, stream, context)) {
    block = new_segment(pool, bytes, stream, context);
  }
  if (block == nullptr) {
    ++stats_.num_alloc_retries;
    release_cached(context);
    block = new_segment(pool, bytes, stream, context);
  }
  return block;
}

bool DeviceCache::fits(size_t bytes) {
  const auto total = static_cast<double>(device_properties().total_memory);
  const auto reserved = static_cast<double>(stats_.reserved_bytes[0].current);
  return reserved + static_cast<double>(bytes) <= total * fraction_;
}

AllocatorRef DeviceCache::allocator_of(const BlockPool& pool) const {
  const auto found = allocators_.find(pool.owner);
  return found == allocators_.end() ? nullptr : found->second;
}

Block* DeviceCache::new_segment(BlockPool& pool, size_t bytes, c10::Stream stream, const Context& context) {
  refuse_device_allocation(device_);
  if (!fits(bytes)) {
    return nullptr;
  }
  auto plugged = allocator_of(pool);
  void* memory = plugged != nullptr ? plugged->alloc(bytes, device_, stream_handle(stream))
                                    : musart::allocate(device_, bytes, musart::Owner::Framework);
  if (memory == nullptr) {
    return nullptr;
  }
  auto* segment =
      new Segment{&pool, stream.id(), static_cast<char*>(memory), bytes, nullptr, std::move(plugged), context};
  segment->first = new Block{segment, segment->address, bytes};
  segments_[segment->address] = segment;
  ++stats_.num_device_alloc;
  for_stats(pool, [&](int i) {
    stats_.segment[i].increase(1);
    stats_.reserved_bytes[i].increase(bytes);
  });
  if (bytes >= max_split_size()) {
    stats_.oversize_segments.increase(1);
  }
  note("segment_alloc", segment->address, bytes, stream.id(), context);
  return segment->first;
}

Block* DeviceCache::hand_out(Block* block, size_t size, size_t requested, Context context) {
  const size_t rest = block->size - size;
  if (block->segment->pool->small ? rest >= kRounding : size < max_split_size() && rest > kSmallLimit) {
    split(block, size);
  }
  musart::memcheck::use(block->address, requested);
  mark_allocated(block, requested, std::move(context));
  return block;
}

void DeviceCache::mark_allocated(Block* block, size_t requested, Context context) {
  block->allocated = true;
  block->requested = requested;
  block->context = std::move(context);
  for_stats(*block->segment->pool, [&](int i) {
    stats_.allocation[i].increase(1);
    stats_.allocated_bytes[i].increase(block->size);
    stats_.active[i].increase(1);
    stats_.active_bytes[i].increase(block->size);
    stats_.requested_bytes[i].increase(requested);
  });
  if (is_oversize(block)) {
    stats_.oversize_allocations.increase(1);
  }
  note("alloc", block->address, requested, block->segment->stream, block->context);
}

void DeviceCache::split(Block* block, size_t size) {
  auto* rest = new Block{block->segment, block->address + size, block->size - size};
  rest->previous = block;
  rest->next = block->next;
  if (rest->next != nullptr) {
    rest->next->previous = rest;
  }
  block->next = rest;
  block->size = size;
  block->segment->pool->keep(rest);
  count_inactive_split(rest, 1);
}

void DeviceCache::free(Block* block) {
  if (!block->segment->pool->is_private()) { // a graph may go on using what a program gives back
    musart::memcheck::give_up(block->address);
  }
  const auto context = gather_context(Gather::All);
  std::lock_guard<std::mutex> lock(mutex_);
  note(
      "free_requested",
      block->address,
      block->requested,
      block->segment->stream,
      context != nullptr ? context : block->context);
  mark_freed(block);
  if (block->uses.empty()) {
    return_block(block, context);
    return;
  }
  for (auto& [stream, done] : block->uses) {
    done = completion_ns(stream);
  }
  pending_.push_back(block);
  collect_pending(context);
}

void DeviceCache::mark_freed(const Block* block) {
  for_stats(*block->segment->pool, [&](int i) {
    stats_.allocation[i].decrease(1);
    stats_.allocated_bytes[i].decrease(block->size);
  });
  if (is_oversize(block)) {
    stats_.oversize_allocations.decrease(1);
  }
}

void DeviceCache::return_block(Block* block, const Context& context) {
  note(
      "free_completed",
      block->address,
      block->requested,
      block->segment->stream,
      context != nullptr ? context : block->context);
  block->context = nullptr;
  for_stats(*block->segment->pool, [&](int i) {
    stats_.active[i].decrease(1);
    stats_.active_bytes[i].decrease(block->size);
    stats_.requested_bytes[i].decrease(block->requested);
  });
  block->allocated = false;
  block->requested = 0;
  block = merge(block, block->previous);
  block = merge(block, block->next);
  block->segment->pool->keep(block);
  count_inactive_split(block, 1);
}

// Merges a freed block with a free neighbour and returns the remaining block, which is in no free list.
Block* DeviceCache::merge(Block* block, Block* neighbour) {
  if (neighbour == nullptr || neighbour->allocated) {
    return block;
  }
  count_inactive_split(neighbour, -1);
  block->segment->pool->free.erase(neighbour);
  Block* left = neighbour == block->previous ? neighbour : block;
  Block* right = left == block ? neighbour : block;
  left->size += right->size;
  left->next = right->next;
  if (left->next != nullptr) {
    left->next->previous = left;
  }
  delete right;
  return left;
}

void DeviceCache::record_use(Block* block, c10::Stream stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (stream.id() == block->segment->stream && stream.device_index() == device_) {
    return;
  }
  for (const auto& use : block->uses) {
    if (use.first == stream) {
      return;
    }
  }
  block->uses.emplace_back(stream, 0);
}

void DeviceCache::collect_pending(const Context& context) {
  const auto now = pending_.empty() ? 0 : now_ns();
  for (auto it = pending_.begin(); it != pending_.end();) {
    Block* block = *it;
    const bool done = std::all_of(block->uses.begin(), block->uses.end(), [&](const auto& u) { return u.second <= now; });
    if (!done) {
      ++it;
      continue;
    }
    block->uses.clear();
    it = pending_.erase(it);
    return_block(block, context);
  }
}

void DeviceCache::release_cached(const Context& context) {
  ++stats_.num_sync_all_streams; // a device waits for all streams here
  std::vector<Segment*> idle;
  for (const auto& [address, segment] : segments_) {
    const bool pool_in_use = segment->pool->is_private() && private_.count(segment->pool->owner) != 0 &&
        private_.at(segment->pool->owner)->use_count > 0;
    if (!segment->first->allocated && segment->first->next == nullptr && !pool_in_use) {
      idle.push_back(segment);
    }
  }
  for (auto* segment : idle) {
    release_segment(segment, context);
  }
}

// Gives oversize blocks of the stream back to the driver, the smallest sufficient one or the largest ones together.
bool DeviceCache::release_oversize(BlockPool& pool, size_t size, c10::Stream stream, const Context& context) {
  const size_t limit = max_split_size();
  if (limit == std::numeric_limits<size_t>::max()) {
    return false;
  }
  const size_t needed = std::max(size, limit);
  std::vector<Segment*> oversize; // smallest first
  for (const Block* block : pool.free) {
    if (block->segment->stream == stream.id() && is_oversize(block) && !is_split(block)) {
      oversize.push_back(block->segment);
    }
  }
  const auto enough =
      std::find_if(oversize.begin(), oversize.end(), [&](const auto* segment) { return segment->size >= needed; });
  if (enough != oversize.end()) {
    release_segment(*enough, context);
    return true;
  }
  size_t released = 0;
  for (auto it = oversize.rbegin(); it != oversize.rend() && released < needed; ++it) {
    released += (*it)->size;
    release_segment(*it, context);
  }
  return released >= needed;
}

bool DeviceCache::collects_garbage() const {
  return limited_ && garbage_collection_threshold() > 0;
}

// Gives the longest unused large segments back, once more of the permitted memory is reserved than the threshold allows.
void DeviceCache::collect_garbage(const Context& context) {
  const auto allowed = static_cast<double>(device_properties().total_memory) * fraction_;
  const auto limit = static_cast<size_t>(allowed * garbage_collection_threshold());
  const auto reserved = [&] { return static_cast<size_t>(stats_.reserved_bytes[0].current); };
  for (auto old = old_segments(default_.large); reserved() > limit && !old.empty(); old = old_segments(default_.large)) {
    for (auto* segment : old) {
      release_segment(segment, context);
    }
  }
}

void DeviceCache::release_segment(Segment* segment, const Context& context) {
  auto& pool = *segment->pool;
  pool.free.erase(segment->first);
  ++stats_.num_device_free;
  for_stats(pool, [&](int i) {
    stats_.segment[i].decrease(1);
    stats_.reserved_bytes[i].decrease(segment->size);
  });
  if (segment->size >= max_split_size()) {
    stats_.oversize_segments.decrease(1);
  }
  note(
      "segment_free",
      segment->address,
      segment->size,
      segment->stream,
      context != nullptr ? context : segment->context);
  segments_.erase(segment->address);
  if (segment->plugged != nullptr) {
    void* stream = stream_handle(make_stream(device_, segment->stream));
    segment->plugged->free(segment->address, segment->size, device_, stream);
  } else {
    musart::release(segment->address, musart::Owner::Framework);
  }
  delete segment->first;
  delete segment;
}

void DeviceCache::empty() {
  const auto context = gather_context(Gather::All);
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto* block : pending_) {
    for (auto& use : block->uses) {
      wait_until(use.second);
    }
  }
  collect_pending(context);
  release_cached(context);
}

void DeviceCache::raise_out_of_memory(
    size_t requested, c10::Stream stream, Context context, std::unique_lock<std::mutex>& lock) {
  ++stats_.num_ooms;
  const auto [free, total] = musart::memory_info(device_);
  const auto reserved = static_cast<size_t>(stats_.reserved_bytes[0].current);
  const auto allocated = static_cast<size_t>(stats_.allocated_bytes[0].current);
  note("oom", reinterpret_cast<const char*>(free), requested, stream.id(), std::move(context));
  const std::string allowed = fraction_ < 1.0
      ? readable(static_cast<size_t>(static_cast<double>(total) * fraction_)) + " allowed; "
      : std::string();
  lock.unlock(); // observers may ask for statistics
  std::vector<OutOfMemoryObserver> told;
  {
    std::lock_guard<std::mutex> guard(g_observer_mutex);
    told = observers();
  }
  for (const auto& observer : told) {
    observer(device_, requested, total, free);
  }
  c10::reportOutOfMemoryToProfiler(
      static_cast<int64_t>(requested), allocated, reserved, c10::Device(kMusa, device_));
  TORCH_CHECK_WITH(
      OutOfMemoryError,
      false,
      "MUSA out of memory. Tried to allocate ",
      readable(requested),
      ". GPU ",
      static_cast<int>(device_),
      " has a total capacity of ",
      readable(total),
      " of which ",
      readable(free),
      " is free. ",
      allowed,
      "Of the allocated memory ",
      readable(allocated),
      " is allocated by PyTorch, and ",
      readable(reserved - allocated),
      " is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
      "PYTORCH_MUSA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.");
}

DeviceStats DeviceCache::stats() {
  std::lock_guard<std::mutex> lock(mutex_);
  collect_pending(nullptr);
  return stats_;
}

namespace {

template <typename Action>
void for_each_stat(DeviceStats& stats, Action action) {
  for (auto* array :
       {&stats.allocation,
        &stats.segment,
        &stats.active,
        &stats.inactive_split,
        &stats.allocated_bytes,
        &stats.reserved_bytes,
        &stats.active_bytes,
        &stats.inactive_split_bytes,
        &stats.requested_bytes}) {
    for (auto& stat : *array) {
      action(stat);
    }
  }
  action(stats.oversize_allocations);
  action(stats.oversize_segments);
}

} // namespace

void DeviceCache::reset_peak() {
  std::lock_guard<std::mutex> lock(mutex_);
  for_each_stat(stats_, [](auto& stat) { stat.reset_peak(); });
}

void DeviceCache::reset_accumulated() {
  std::lock_guard<std::mutex> lock(mutex_);
  for_each_stat(stats_, [](auto& stat) { stat.reset_accumulated(); });
  stats_.num_alloc_retries = 0;
  stats_.num_ooms = 0;
  stats_.num_sync_all_streams = 0;
  stats_.num_device_alloc = 0;
  stats_.num_device_free = 0;
}

void DeviceCache::set_fraction(double fraction) {
  std::lock_guard<std::mutex> lock(mutex_);
  fraction_ = fraction;
  limited_ = true;
}

double DeviceCache::fraction() {
  std::lock_guard<std::mutex> lock(mutex_);
  return fraction_;
}

DevicePlace DeviceCache::place_of(const Block* block) {
  std::lock_guard<std::mutex> lock(mutex_);
  const Segment* segment = block->segment;
  const auto offset = static_cast<uint64_t>(block->address - segment->address);
  // The driver does not own a pluggable allocator's memory. On a device, other processes cannot open it either.
  const auto allocation = musart::find_allocation(segment->address);
  const int file = allocation ? musart::share(*allocation) : -1;
  TORCH_CHECK(file >= 0, "MUSA error: invalid argument");
  return {name_memory(file, 0, segment->size), offset};
}

void DeviceCache::collect_segments(std::vector<SegmentRecord>& into) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [address, segment] : segments_) {
    const auto stream = reinterpret_cast<uintptr_t>(stream_handle(make_stream(device_, segment->stream)));
    SegmentRecord record{
        device_,
        reinterpret_cast<uintptr_t>(address),
        segment->size,
        stream,
        segment->pool->small,
        segment->pool->owner,
        segment->context,
        {}};
    for (const Block* block = segment->first; block != nullptr; block = block->next) {
      const bool pending = std::find(pending_.begin(), pending_.end(), block) != pending_.end();
      const char* state = pending ? "active_pending_free" : block->allocated ? "active_allocated" : "inactive";
      record.blocks.push_back(
          {reinterpret_cast<uintptr_t>(block->address), block->size, block->requested, state, block->context});
    }
    into.push_back(std::move(record));
  }
  note("snapshot", nullptr, static_cast<size_t>(stats_.active_bytes[0].current), 0, nullptr);
}

void DeviceCache::note(const char* action, const char* address, size_t size, c10::StreamId stream, Context context) {
  if (C10_LIKELY(!history_enabled())) {
    return;
  }
  const auto handle = reinterpret_cast<uintptr_t>(stream_handle(make_stream(device_, stream)));
  trace_.push_back(
      {action,
       device_,
       reinterpret_cast<uintptr_t>(address),
       size,
       handle,
       unix_time_us(),
       for_history(std::move(context))});
  while (trace_.size() > history_limit()) {
    trace_.pop_front();
  }
}

void DeviceCache::forget_trace() {
  std::lock_guard<std::mutex> lock(mutex_);
  trace_.clear();
}

std::vector<TraceRecord> DeviceCache::trace() {
  std::lock_guard<std::mutex> lock(mutex_);
  return {trace_.begin(), trace_.end()};
}

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

void DeviceCache::begin_pool(PoolId id, std::optional<c10::Stream> only) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto& pair = private_[id];
  if (pair == nullptr) {
    pair = std::make_unique<PoolPair>(id);
    pair->use_count = 0;
  }
  ++pair->use_count;
  redirects_.push_back({id, only});
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
  TORCH_CHECK(found != private_.end(), "releasePool: no such pool");
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
      blocks.blocks.push_back({block->size, block->requested, block->allocated});
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
      if (block->allocated && std::find(pending_.begin(), pending_.end(), block) == pending_.end()) {
        live.insert(block->address);
      }
    }
  }
  return live;
}

} // namespace musasim
