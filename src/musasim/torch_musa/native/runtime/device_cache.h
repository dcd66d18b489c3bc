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
#include <thread>
#include <tuple>

namespace musasim {

constexpr size_t kSmallLimit = size_t{1} << 20;
constexpr size_t kSmallSegment = size_t{2} << 20;
constexpr size_t kMediumLimit = size_t{10} << 20;
constexpr size_t kMediumSegment = size_t{20} << 20;

constexpr size_t round_up(size_t value, size_t unit) {
  return (value + unit - 1) / unit * unit;
}

constexpr size_t segment_size(size_t size) {
  return size <= kSmallLimit ? kSmallSegment : size < kMediumLimit ? kMediumSegment : round_up(size, kSmallSegment);
}

struct Segment;
struct BlockPool;

// The use of a block on another stream than its own.
struct Use {
  c10::Stream stream;
  int64_t done_ns = 0; // when the stream is done with a block that the program has freed
  bool in_capture = false; // noted while a private pool was in use
};

struct Block {
  Segment* segment;
  char* address;
  size_t size;
  size_t requested = 0; // of a free block, what was last asked for
  bool allocated = false;
  bool mapped = true; // false: only address space of an expandable segment
  bool pending = false; // freed by the program, still in use on another stream
  Block* previous = nullptr; // neighbours inside the segment
  Block* next = nullptr;
  std::vector<Use> uses;
  Context context; // of its allocation
  uint64_t freed_at = 0; // when it became free, counted in requests to its pool

  bool is_split() const {
    return previous != nullptr || next != nullptr;
  }
};

// One piece of memory taken from the device, or address space that gets memory as it is needed. Its blocks form a list that
// covers it.
struct Segment {
  BlockPool* pool;
  c10::StreamId stream;
  char* address;
  size_t size;
  Block* first;
  AllocatorRef plugged; // the allocator that provided it; null for the driver
  Context context; // of the allocation that needed it
  musart::Reservation* reservation = nullptr; // of an expandable segment

  bool is_expandable() const {
    return reservation != nullptr;
  }
};

struct SmallestFirst {
  bool operator()(const Block* a, const Block* b) const {
    return std::tie(a->segment->stream, a->size, a->address) < std::tie(b->segment->stream, b->size, b->address);
  }
};

struct LowestFirst {
  bool operator()(const Block* a, const Block* b) const {
    return std::tie(a->segment->stream, a->address) < std::tie(b->segment->stream, b->address);
  }
};

struct BlockPool {
  bool small;
  PoolId owner;
  bool no_split = false;
  std::set<Block*, SmallestFirst> free;
  std::set<Block*, LowestFirst> unmapped;
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
  PoolOptions options;
  explicit PoolPair(PoolId id) : small{true, id}, large{false, id} {}
};

// The segments of a private pool, and the blocks that each is divided into, at one time.
struct PoolState {
  struct BlockState {
    size_t size;
    size_t requested;
    bool allocated;
    bool mapped;
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
// are not split and serve only requests of about their size. With expandable segments, each pool of a stream has one range of
// addresses instead, which grows (expandable_segments.cpp).
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
  void set_pool_options(PoolId id, PoolOptions options);
  int pool_use_count(PoolId id);
  void begin_pool(PoolId id, std::optional<c10::Stream> only, std::optional<std::thread::id> thread);
  void end_pool(PoolId id);
  void release_pool(PoolId id);
  PoolState pool_state(PoolId id);
  RestoredPool restore_pool(const PoolState& state);
  std::set<const void*> live_in_pool(PoolId id);

 private:
  struct Redirect {
    PoolId id;
    std::optional<c10::Stream> only;
    std::optional<std::thread::id> thread;
  };

  BlockPool& pool_for(size_t size, c10::Stream stream);
  Block* take_cached(BlockPool& pool, size_t size, c10::Stream stream);
  Block* take_from_device(BlockPool& pool, size_t size, c10::Stream stream, const Context& context);
  Block* take_reserve(size_t size, c10::Stream stream);
  Block* new_segment(BlockPool& pool, size_t bytes, c10::Stream stream, const Context& context);
  bool fits(size_t bytes);
  double share() const; // of the device's memory, that the process may use
  AllocatorRef allocator_of(const BlockPool& pool) const;
  Block* hand_out(Block* block, size_t size, size_t requested, Context context);
  void mark_allocated(Block* block, size_t requested, Context context);
  void mark_freed(const Block* block);
  std::vector<Segment*> segments_of(PoolId id);
  Block* take_expandable(BlockPool& pool, size_t size, c10::Stream stream, const Context& context);
  Block* find_expandable(BlockPool& pool, size_t size, c10::Stream stream);
  Block* reserve_segment(BlockPool& pool, c10::Stream stream);
  Block* map_block(Block* block, size_t bytes, const Context& context);
  void unmap_block(Block* block, const Context& context);
  void count_mapped(const Block* block, int sign, const Context& context);
  DevicePlace place_of_expandable(const Block* block);
  bool is_in_use(const BlockPool& pool) const;
  void free_all(Segment* segment, std::vector<char*>& freed);
  void divide(Segment* segment, const PoolState::SegmentState& state, std::vector<Block*>& allocated);
  Block* cut(Block* block, size_t size);
  void split(Block* block, size_t size);
  bool splits(const Block* block, size_t size) const;
  void return_block(Block* block, const Context& context);
  Block* merge(Block* block, Block* neighbour);
  void wait_for_uses(Block* block);
  void collect_deferred();
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
  void for_stats(const BlockPool& pool, Change change) {
    change(0);
    change(pool.small ? 1 : 2);
  }
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
  std::list<Block*> pending_; // wait for other streams
  std::vector<Block*> deferred_; // were freed while a private pool was in use: they wait for its end, then for other streams
  std::deque<TraceRecord> trace_;
};

} // namespace musasim
