#pragma once

#include "history.h"
#include "pluggable.h"
#include "stream.h"
#include "version.h"

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace musasim {

using PoolId = std::pair<unsigned long long, unsigned long long>;
using DeviceStats = c10::CachingDeviceAllocator::DeviceStats;

// Snapshot records, in the shape that Python shows.
struct BlockRecord {
  uintptr_t address;
  size_t size;
  size_t requested;
  const char* state; // "active_allocated", "active_pending_free" or "inactive"
  Context context;
};

struct SegmentRecord {
  c10::DeviceIndex device;
  uintptr_t address;
  size_t total_size;
  uintptr_t stream;
  bool is_small;
  bool is_expandable;
  PoolId pool;
  Context context;
  std::vector<BlockRecord> blocks;
};

struct TraceRecord {
  const char* action;
  c10::DeviceIndex device;
  uintptr_t address;
  size_t size;
  uintptr_t stream;
  int64_t time_us;
  Context context;
  std::string metadata;
};

using OutOfMemoryObserver = std::function<void(c10::DeviceIndex, size_t requested, size_t total, size_t free)>;

c10::Allocator* device_allocator();

// Memory for CPU kernels that work for `device`: device memory whose type is CPU.
c10::DataPtr allocate_on(c10::DeviceIndex device, size_t bytes);
bool free_device_memory(void* address); // false when it is not such memory
c10::DataPtr refer_to(const c10::DataPtr& memory); // the same memory, which this does not keep
bool is_device_memory(const c10::DataPtr& ptr);
void register_tensor_memory(); // lets the driver's reports of faults name the tensor's memory

// Sharing with other processes: the segment that contains `address`, and the offset in it. Shared memory is kept after its
// owner has released it, until `counter` shows that the receiver has released it too.
struct DevicePlace {
  std::string handle;
  uint64_t offset;
};
DevicePlace place_in_device(const void* address);
void keep_while_used(const void* address, const struct NumberPlace& counter);
c10::Device device_of_pointer(const void* ptr);

void empty_cache();
void record_stream(const c10::DataPtr& ptr, c10::Stream stream);
DeviceStats memory_stats(c10::DeviceIndex device);
void reset_peak_stats(c10::DeviceIndex device);
void reset_accumulated_stats(c10::DeviceIndex device);
std::pair<size_t, size_t> memory_info(c10::DeviceIndex device); // free, total
void set_memory_fraction(c10::DeviceIndex device, double fraction);
double memory_fraction(c10::DeviceIndex device);
void attach_oom_observer(OutOfMemoryObserver observer);
void initialise_allocator(); // torch_musa has been initialised: functions about a device may be asked from now on
void set_caching(bool enabled); // without it, memory comes from the driver, and goes back at once
void* allocate_raw(size_t bytes, c10::Stream stream); // freed by free_device_memory

std::vector<SegmentRecord> snapshot_segments();
std::vector<std::vector<TraceRecord>> snapshot_traces();
void record_history(const HistorySettings& settings);

// Private pools: graphs and MemPool. `every_stream` sends the allocations of all streams and threads to the pool.
PoolId new_pool_id(bool user_created);
void retain_pool(c10::DeviceIndex device, PoolId pool);
void set_pool_allocator(PoolId pool, AllocatorRef allocator); // it provides the segments of the pool, on every device
void begin_allocate_to_pool(c10::DeviceIndex device, PoolId pool, bool every_stream);
void begin_allocate_thread_to_pool(c10::DeviceIndex device, PoolId pool); // what the calling thread allocates, on any stream
struct PoolOptions {
  bool use_on_oom = false; // its free memory serves other requests where the device is full
  bool no_split = false; // a segment of it is one block
};
void set_pool_options(c10::DeviceIndex device, PoolId pool, PoolOptions options);
int pool_use_count(c10::DeviceIndex device, PoolId pool);
void end_allocate_to_pool(c10::DeviceIndex device, PoolId pool);
void release_pool(c10::DeviceIndex device, PoolId pool);

// The state of a private pool's blocks, for torch.compile's graph trees. `restore_pool` returns to it: `freed` are the addresses
// whose tensors lose their memory by that, `allocated` owns the blocks that are in use again.
struct PoolState;
struct PoolChange {
  std::vector<const void*> freed;
  std::vector<c10::DataPtr> allocated;
};
std::shared_ptr<const PoolState> pool_state(c10::DeviceIndex device, PoolId pool);
PoolChange restore_pool(c10::DeviceIndex device, const PoolState& state);
std::set<const void*> live_in_pool(c10::DeviceIndex device, PoolId pool);

// Whether this is memory that is given back with its owner, and the end of that: false if it was not so.
bool is_owned(const c10::DataPtr& memory);
bool disown(c10::DataPtr& memory);

} // namespace musasim
