#pragma once

#include "allocator.h"
#include "memory_file.h"

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

namespace musasim {

struct Segment;
struct BlockPool;

struct Block {
  Segment* segment;
  char* address;
  size_t size;
  size_t requested = 0;
  bool allocated = false;
  Block* previous = nullptr; // neighbours inside the segment
  Block* next = nullptr;
  std::vector<std::pair<c10::Stream, int64_t>> uses; // other streams, and the times when they are done with it
  Context context; // of its allocation
  uint64_t freed_at = 0; // when it became free, counted in requests to its pool
};

// One piece of memory taken from the device. Its blocks form a list that covers it.
struct Segment {
  BlockPool* pool;
  c10::StreamId stream;
  char* address;
  size_t size;
  Block* first;
  AllocatorRef plugged; // the allocator that provided it; null for the driver
  Context context; // of the allocation that needed it
};

struct SmallestFirst {
  bool operator()(const Block* a, const Block* b) const {
    return std::tie(a->segment->stream, a->size, a->address) < std::tie(b->segment->stream, b->size, b->address);
  }
};

struct BlockPool {
  bool small;
  PoolId owner;
  std::set<Block*, SmallestFirst> free;
  uint64_t requests = 0; // counted where garbage is collected, which goes by age

  bool is_private() const {
    return owner != PoolId{0, 0};
  }
  void keep(Block* block) {
    block->freed_at = requests;
    free.insert(block);
  }
};

struct PoolPair {
  BlockPool small;
  BlockPool large;
  int use_count = 1;
  explicit PoolPair(PoolId id) : small{true, id, {}}, large{false, id, {}} {}
};

// The segments of a private pool, and the blocks that each is divided into, at one time.
struct PoolState {
  struct BlockState {
    size_t size;
    size_t requested;
    bool allocated;
  };
  struct SegmentState {
    char* address;
    std::vector<BlockState> blocks;
  };
  PoolId id;
  std::vector<SegmentState> segments;
};

// What a return to an earlier state has freed, and the blocks that are allocated since.
struct RestoredPool {
  std::vector<char*> freed;
  std::vector<Block*> allocated;
};

// The caching allocator of one device. Sizes follow torch_musa: 512 byte rounding, small blocks (up to 1 MiB) cut from
// 2 MiB segments, medium ones from 20 MiB segments, large ones rounded to 2 MiB. Blocks of max_split_size and more ("oversize")
// are not split and serve only requests of about their size.
class DeviceCache {
 public:
  void attach(c10::DeviceIndex device);
  Block* allocate(size_t bytes, c10::Stream stream);
  void free(Block* block);
  void empty();
  void record_use(Block* block, c10::Stream stream);

  DeviceStats stats();
  void reset_peak();
  void reset_accumulated();
  void set_fraction(double fraction);
  double fraction();

  DevicePlace place_of(const Block* block);
  void collect_segments(std::vector<SegmentRecord>& into);
  std::vector<TraceRecord> trace();
  void forget_trace();

  void retain_pool(PoolId id);
  void set_pool_allocator(PoolId id, AllocatorRef allocator);
  void begin_pool(PoolId id, std::optional<c10::Stream> only);
  void end_pool(PoolId id);
  void release_pool(PoolId id);
  PoolState pool_state(PoolId id);
  RestoredPool restore_pool(const PoolState& state);
  std::set<const void*> live_in_pool(PoolId id);

 private:
  struct Redirect {
    PoolId id;
    std::optional<c10::Stream> only;
  };

  BlockPool& pool_for(size_t size, c10::Stream stream);
  Block* take_cached(BlockPool& pool, size_t size, c10::Stream stream);
  Block* take_from_device(BlockPool& pool, size_t size, c10::Stream stream, const Context& context);
  Block* new_segment(BlockPool& pool, size_t bytes, c10::Stream stream, const Context& context);
  bool fits(size_t bytes);
  AllocatorRef allocator_of(const BlockPool& pool) const;
  Block* hand_out(Block* block, size_t size, size_t requested, Context context);
  void mark_allocated(Block* block, size_t requested, Context context);
  void mark_freed(const Block* block);
  std::vector<Segment*> segments_of(PoolId id);
  void free_all(Segment* segment, std::vector<char*>& freed);
  void divide(Segment* segment, const PoolState::SegmentState& state, std::vector<Block*>& allocated);
  void split(Block* block, size_t size);
  void return_block(Block* block, const Context& context);
  Block* merge(Block* block, Block* neighbour);
  void collect_pending(const Context& context);
  void release_cached(const Context& context);
  bool release_oversize(BlockPool& pool, size_t size, c10::Stream stream, const Context& context);
  bool collects_garbage() const;
  void collect_garbage(const Context& context);
  void release_segment(Segment* segment, const Context& context);
  [[noreturn]] void raise_out_of_memory(
      size_t requested, c10::Stream stream, Context context, std::unique_lock<std::mutex>& lock);
  void note(const char* action, const char* address, size_t size, c10::StreamId stream, Context context);
  template <typename Change>
  void for_stats(const BlockPool& pool, Change change);
  void count_inactive_split(const Block* block, int sign);

  std::mutex mutex_;
  c10::DeviceIndex device_ = 0;
  DeviceStats stats_;
  double fraction_ = 1.0;
  bool limited_ = false; // whether a program has set the fraction
  PoolPair default_{PoolId{0, 0}};
  std::map<PoolId, std::unique_ptr<PoolPair>> private_;
  std::map<PoolId, AllocatorRef> allocators_;
  std::vector<Redirect> redirects_;
  std::map<const char*, Segment*> segments_;
  std::list<Block*> pending_; // freed by the program, still in use on another stream
  std::deque<TraceRecord> trace_;
};

} // namespace musasim
