#include "device_cache.h"

#include "allocator_settings.h"
#include "capture.h"
#include "trace.h"
#include "version.h"
#include "musart/driver/checked_memory.h"
#include "musart/driver/postponed.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdio>

namespace musasim {
namespace {

constexpr size_t kRounding = 512;

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

void* take_from_driver(c10::DeviceIndex device, size_t bytes) {
  const TracedCall call("musaMalloc");
  return musart::allocate(device, bytes, musart::Owner::Framework);
}

bool is_oversize(const Block* block) {
  return block->size >= max_split_size();
}

using FreeBlocks = std::set<Block*, SmallestFirst>;

// The block to take among those that are large enough, from `first` on. A block at the end of what is mapped of an expandable
// segment counts with what can still be mapped behind it, so that it goes last.
FreeBlocks::iterator choose(const FreeBlocks& free, FreeBlocks::iterator first, c10::StreamId stream) {
  const auto serves = [&](auto it) { return it != free.end() && (*it)->segment->stream == stream; };
  const auto room = [](const Block* b) { return b->size + (b->next != nullptr && !b->next->mapped ? b->next->size : 0); };
  auto it = first;
  if (!expandable_segments()) {
    while (serves(it) && (*it)->segment->is_expandable()) {
      ++it;
    }
    return serves(it) ? it : free.end();
  }
  for (auto next = it; serves(it) && (*it)->segment->is_expandable(); it = next) {
    if (!serves(++next) || room(*next) >= room(*it)) {
      break;
    }
  }
  return serves(it) ? it : free.end();
}

// Cached segments of `pool` that are free as a whole and whose age, in requests, is at least their average.
std::vector<Segment*> old_segments(const BlockPool& pool) {
  std::vector<Segment*> whole;
  uint64_t total = 0;
  for (const Block* block : pool.free) {
    if (!block->is_split() && !block->segment->is_expandable()) {
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

void DeviceCache::count_inactive_split(const Block* block, int sign) {
  if (block->allocated || !block->is_split() || block->segment->is_expandable()) {
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
  if (redirects_.empty()) { // events of a capture cannot be asked
    collect_deferred();
    collect_pending(context);
  }
  auto& pool = pool_for(size, stream);
  Block* block = take_cached(pool, size, stream);
  if (block == nullptr) {
    block = take_from_device(pool, size, stream, context);
  }
  if (block == nullptr) {
    block = take_reserve(size, stream);
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
    const bool thread_matches = !it->thread.has_value() || *it->thread == std::this_thread::get_id();
    if (stream_matches && thread_matches) {
      pair = private_.at(it->id).get();
    }
  }
  return size <= kSmallLimit ? pair->small : pair->large;
}

Block* DeviceCache::take_cached(BlockPool& pool, size_t size, c10::Stream stream) {
  Segment key_segment{&pool, stream.id(), nullptr, 0, nullptr, nullptr};
  Block key{&key_segment, nullptr, size};
  pool.requests += collects_garbage() ? 1 : 0;
  const auto found = choose(pool.free, pool.free.lower_bound(&key), stream.id());
  if (found == pool.free.end()) {
    return nullptr;
  }
  Block* block = *found;
  const bool too_large = size < max_split_size() ? is_oversize(block) : block->size >= size + max_non_split_rounding();
  if (too_large) {
    return nullptr;
  }
  pool.free.erase(found);
  count_inactive_split(block, -1);
  return block;
}

Block* DeviceCache::take_from_device(BlockPool& pool, size_t size, c10::Stream stream, const Context& context) {
  if (collects_garbage()) {
    collect_garbage(context);
  }
  const auto take = [&] {
    return expandable_segments() ? take_expandable(pool, size, stream, context)
                                 : new_segment(pool, segment_size(size), stream, context);
  };
  Block* block = take();
  if (block == nullptr && release_oversize(pool, size, stream, context)) {
    block = take();
  }
  if (block == nullptr && redirects_.empty()) {
    ++stats_.num_alloc_retries;
    musart::postponed::finish(); // a device waits for all streams here
    collect_pending(context);
    release_cached(context);
    block = take();
  }
  return block;
}

// What pools that were made for it have free, for a request from outside that the device has no memory for.
Block* DeviceCache::take_reserve(size_t size, c10::Stream stream) {
  Block* block = nullptr;
  for (auto& [id, pair] : private_) {
    if (block == nullptr && pair->options.use_on_oom) {
      block = take_cached(size <= kSmallLimit ? pair->small : pair->large, size, stream);
    }
  }
  return block;
}

bool DeviceCache::fits(size_t bytes) {
  const auto total = static_cast<double>(device_properties().total_memory);
  const auto reserved = static_cast<double>(stats_.reserved_bytes[0].current);
  return reserved + static_cast<double>(bytes) <= total * share();
}

double DeviceCache::share() const {
  return limited_ ? fraction_ : memory_fraction_setting();
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
  void* memory = plugged != nullptr ? plugged->alloc(bytes, device_, stream_handle(stream)) : take_from_driver(device_, bytes);
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
  if (splits(block, size)) {
    split(block, size);
  }
  const musart::DeviceWork work;
  musart::memcheck::use(block->address, requested);
  musart::streamcheck::is_used_again(block->address, block->size);
  mark_allocated(block, requested, std::move(context));
  return block;
}

bool DeviceCache::splits(const Block* block, size_t size) const {
  if (block->segment->pool->no_split) {
    return false;
  }
  const size_t rest = block->size - size;
  const bool finely = block->segment->pool->small || expandable_segments();
  return finely ? rest >= kRounding : size < max_split_size() && rest > kSmallLimit;
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

// Shortens the block to `size` bytes; the rest is a block of its own, in no list of the pool.
Block* DeviceCache::cut(Block* block, size_t size) {
  auto* rest = new Block{block->segment, block->address + size, block->size - size};
  rest->mapped = block->mapped;
  rest->requested = block->requested;
  rest->previous = block;
  rest->next = block->next;
  if (rest->next != nullptr) {
    rest->next->previous = rest;
  }
  block->next = rest;
  block->size = size;
  return rest;
}

void DeviceCache::split(Block* block, size_t size) {
  Block* rest = cut(block, size);
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
  block->pending = true;
  if (redirects_.empty()) {
    wait_for_uses(block);
  } else {
    deferred_.push_back(block);
  }
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
  block->pending = false;
  block = merge(block, block->previous);
  block = merge(block, block->next);
  block->segment->pool->keep(block);
  count_inactive_split(block, 1);
}

// Merges a freed block with a free neighbour and returns the remaining block, which is in no free list.
Block* DeviceCache::merge(Block* block, Block* neighbour) {
  if (neighbour == nullptr || neighbour->allocated || neighbour->mapped != block->mapped) {
    return block;
  }
  count_inactive_split(neighbour, -1);
  auto& pool = *block->segment->pool;
  block->mapped ? pool.free.erase(neighbour) : pool.unmapped.erase(neighbour);
  Block* left = neighbour == block->previous ? neighbour : block;
  Block* right = left == block ? neighbour : block;
  left->size += right->size;
  left->requested = block->requested;
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
  const bool in_capture = !redirects_.empty();
  const auto known = std::find_if(block->uses.begin(), block->uses.end(), [&](const Use& u) { return u.stream == stream; });
  if (known == block->uses.end()) {
    block->uses.push_back({stream, 0, in_capture});
  } else if (in_capture) {
    known->in_capture = true;
  }
}

// The next allocation looks whether the streams are done; until then the block counts as active.
void DeviceCache::wait_for_uses(Block* block) {
  for (auto& use : block->uses) {
    use.done_ns = completion_ns(use.stream);
  }
  pending_.push_back(block);
}

// What other streams did within a capture is done when the capture is.
void DeviceCache::collect_deferred() {
  for (Block* block : std::exchange(deferred_, {})) {
    auto& uses = block->uses;
    uses.erase(std::remove_if(uses.begin(), uses.end(), [](const Use& use) { return use.in_capture; }), uses.end());
    wait_for_uses(block);
  }
}

void DeviceCache::collect_pending(const Context& context) {
  if (musart::postponed::any()) {
    return; // by MUSASIM_SEED what used them may still wait. Run under this lock, it could wait for a thread that waits for the lock
  }
  const auto now = pending_.empty() ? 0 : now_ns();
  for (auto it = pending_.begin(); it != pending_.end();) {
    Block* block = *it;
    const bool done = std::all_of(block->uses.begin(), block->uses.end(), [&](const Use& use) { return use.done_ns <= now; });
    if (!done) {
      ++it;
      continue;
    }
    for (const auto& use : block->uses) {
      musart::streamcheck::forget_work_of(stream_state(use.stream), block->address, block->size);
    }
    block->uses.clear();
    it = pending_.erase(it);
    return_block(block, context);
  }
}

bool DeviceCache::is_in_use(const BlockPool& pool) const {
  const auto found = private_.find(pool.owner);
  return pool.is_private() && found != private_.end() && found->second->use_count > 0;
}

void DeviceCache::release_cached(const Context& context) {
  const bool in_private_use = !redirects_.empty(); // a capture must not wait
  stats_.num_sync_all_streams += in_private_use ? 0 : 1; // a device waits for all streams here
  std::vector<Segment*> idle;
  std::vector<Block*> mapped;
  for (const auto& [address, segment] : segments_) {
    if (is_in_use(*segment->pool) || (in_private_use && !segment->pool->is_private())) {
      continue;
    }
    if (!segment->is_expandable() && !segment->first->allocated && segment->first->next == nullptr) {
      idle.push_back(segment);
    }
    for (Block* block = segment->first; segment->is_expandable() && block != nullptr; block = block->next) {
      if (block->mapped && !block->allocated) {
        mapped.push_back(block);
      }
    }
  }
  for (auto* segment : idle) {
    release_segment(segment, context);
  }
  for (auto* block : mapped) {
    unmap_block(block, context);
  }
  std::erase_if(private_, [&](const auto& pool) { return pool.second->use_count == 0 && segments_of(pool.first).empty(); });
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
    const bool whole = !block->is_split() && !block->segment->is_expandable();
    if (block->segment->stream == stream.id() && is_oversize(block) && whole) {
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
  const auto allowed = static_cast<double>(device_properties().total_memory) * share();
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
    musart::postponed::finish(); // such an allocator need not wait for the stream
    segment->plugged->free(segment->address, segment->size, device_, stream);
  } else {
    const TracedCall call("musaFree");
    musart::release(segment->address, musart::Owner::Framework);
  }
  delete segment->first;
  delete segment;
}

void DeviceCache::empty() {
  const auto context = gather_context(Gather::All);
  std::lock_guard<std::mutex> lock(mutex_);
#if !MUSASIM_TORCH_AT_LEAST(2, 9) // later allocators give back the private pools that are not in use
  TORCH_INTERNAL_ASSERT(redirects_.empty());
#endif
  if (redirects_.empty()) {
    collect_deferred();
    for (const auto* block : pending_) {
      for (const auto& use : block->uses) {
        wait_until(use.done_ns);
      }
    }
    collect_pending(context);
  }
  release_cached(context);
}

void DeviceCache::raise_out_of_memory(
    size_t requested, c10::Stream stream, Context context, std::unique_lock<std::mutex>& lock) {
  ++stats_.num_ooms;
  const auto [free, total] = musart::memory_info(device_);
  const auto reserved = static_cast<size_t>(stats_.reserved_bytes[0].current);
  const auto allocated = static_cast<size_t>(stats_.allocated_bytes[0].current);
  note("oom", reinterpret_cast<const char*>(free), requested, stream.id(), std::move(context));
  const std::string allowed = share() < 1.0
      ? readable(static_cast<size_t>(static_cast<double>(total) * share())) + " allowed; "
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
  return share();
}

DevicePlace DeviceCache::place_of(const Block* block) {
  std::lock_guard<std::mutex> lock(mutex_);
  const Segment* segment = block->segment;
  if (segment->is_expandable()) {
    return place_of_expandable(block);
  }
  const auto offset = static_cast<uint64_t>(block->address - segment->address);
  // The driver does not own a pluggable allocator's memory. On a device, other processes cannot open it either.
  const auto allocation = musart::find_allocation(segment->address);
  const int file = allocation ? musart::share(*allocation) : -1;
  TORCH_CHECK(file >= 0, "MUSA error: invalid argument");
  return {name_memory(file, 0, segment->size), offset};
}

namespace {

BlockRecord describe(const Block* block) {
  const char* state = block->pending ? "active_pending_free" : block->allocated ? "active_allocated" : "inactive";
  return {reinterpret_cast<uintptr_t>(block->address), block->size, block->requested, state, block->context};
}

} // namespace

// One record for each range that is mapped without a gap: of a segment that is not expandable, the whole.
void DeviceCache::collect_segments(std::vector<SegmentRecord>& into) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [address, segment] : segments_) {
    const auto stream = reinterpret_cast<uintptr_t>(stream_handle(make_stream(device_, segment->stream)));
    for (const Block* block = segment->first; block != nullptr; block = block->next) {
      if (!block->mapped) {
        continue;
      }
      if (block->previous == nullptr || !block->previous->mapped) {
        into.push_back(
            {device_,
             reinterpret_cast<uintptr_t>(block->address),
             0,
             stream,
             segment->pool->small,
             segment->is_expandable(),
             segment->pool->owner,
             block == segment->first ? segment->context : nullptr,
             {}});
      }
      into.back().total_size += block->size;
      into.back().blocks.push_back(describe(block));
    }
  }
  note("snapshot", nullptr, static_cast<size_t>(stats_.active_bytes[0].current), 0, nullptr);
}

void DeviceCache::note(const char* action, const char* address, size_t size, c10::StreamId stream, Context context) {
  if (C10_LIKELY(!history_enabled()) || is_skipped(action)) {
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
       for_history(std::move(context)),
       memory_metadata()});
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

} // namespace musasim
