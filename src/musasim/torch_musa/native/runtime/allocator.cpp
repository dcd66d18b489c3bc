#include "allocator.h"

#include "capture.h"
#include "device_cache.h"
#include "gpu_trace.h"
#include "pluggable.h"
#include "release.h"
#include "replay_memory.h"
#include "ipc.h"
#include "launches.h"

#include <c10/util/Exception.h>
#include <c10/util/ScopeExit.h>
#include <c10/util/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace musasim {
namespace {

std::array<DeviceCache, kMaxDevices>& caches() {
  static auto* all = [] {
    auto* made = new std::array<DeviceCache, kMaxDevices>(); // never destroyed: tensors may outlive static destruction
    for (int i = 0; i < kMaxDevices; ++i) {
      (*made)[i].attach(static_cast<c10::DeviceIndex>(i));
    }
    return made;
  }();
  return *all;
}

DeviceCache& cache_of(c10::DeviceIndex device) {
  return caches()[resolve_device(device)];
}

std::atomic<bool> g_initialised{false};

// For functions that are asked about a device, rather than for its memory: these know no current one, and none before torch_musa
// has been initialised.
DeviceCache& known_cache(c10::DeviceIndex device) {
  const bool known = g_initialised.load() && device >= 0 && device < device_count();
  TORCH_CHECK(known, "Invalid device argument ", int{device}, ": did you call init?");
  return caches()[device];
}

// Memory that is in use. It belongs to a block of the device's cache or to a program's own allocator. Otherwise it is a
// replay's scratch memory.
struct Lease {
  Block* block = nullptr;
  c10::DeviceIndex device = -1;
  size_t bytes = 0;
  AllocatorRef plugged;
  void* stream = nullptr;

  bool exists() const {
    return device >= 0;
  }
  std::vector<NumberPlace> receivers; // one number for each time it was sent to another process
};

bool in_use_elsewhere(const Lease& lease) {
  return std::any_of(
      lease.receivers.begin(), lease.receivers.end(), [](const auto& receiver) { return receiver.number->load() > 0; });
}

// Memory in use, by address. The context of a DataPtr has to be the address itself, because libraries inside CPU kernels use
// raw_allocate, which requires this and returns nothing else.
class Leases {
 public:
  void add(const void* address, Lease lease) {
    const std::lock_guard<std::mutex> lock(mutex_);
    by_address_[address] = std::move(lease);
  }
  Lease find(const void* address) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = by_address_.find(address);
    return found == by_address_.end() ? Lease{} : found->second;
  }
  // The memory in use that `address` lies in, for a signal handler: nothing while the table is in use.
  std::optional<musart::TensorMemory> covering(const char* address) {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) {
      for (const auto& [start, lease] : by_address_) {
        const auto* base = static_cast<const char*>(start);
        if (base <= address && address < base + lease.bytes) {
          return musart::TensorMemory{base, lease.bytes};
        }
      }
    }
    return std::nullopt;
  }
  bool add_receiver(const void* address, const NumberPlace& receiver) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = by_address_.find(address);
    if (found != by_address_.end()) {
      found->second.receivers.push_back(receiver);
    }
    return found != by_address_.end();
  }
  Lease remove(const void* address) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = by_address_.find(address);
    if (found == by_address_.end()) {
      return {};
    }
    const auto lease = std::move(found->second);
    by_address_.erase(found);
    return lease;
  }

 private:
  std::mutex mutex_;
  ska::flat_hash_map<const void*, Lease> by_address_;
};

Leases& leases() {
  static auto* all = new Leases();
  return *all;
}

// Memory that its owner has released but another process still uses.
class Limbo {
 public:
  void add(const Lease& lease) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(lease);
  }
  std::vector<Lease> take_done() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto done = std::partition(waiting_.begin(), waiting_.end(), &in_use_elsewhere);
    std::vector<Lease> taken(done, waiting_.end());
    waiting_.erase(done, waiting_.end());
    return taken;
  }

 private:
  std::mutex mutex_;
  std::vector<Lease> waiting_;
};

Limbo& limbo() {
  static auto* all = new Limbo();
  return *all;
}

void free_lease(const Lease& lease) {
  for (const auto& receiver : lease.receivers) {
    reuse_shared_number(receiver.index);
  }
  caches()[lease.device].free(lease.block);
}

void put_down(const Lease& lease) {
  if (C10_UNLIKELY(in_use_elsewhere(lease))) {
    limbo().add(lease);
  } else {
    free_lease(lease);
  }
}

void report(const Lease& lease, int64_t sign) {
  if (C10_LIKELY(!c10::memoryProfilingEnabled()) || lease.block == nullptr) {
    return;
  }
  const auto stats = caches()[lease.device].stats();
  c10::reportMemoryUsageToProfiler(
      lease.block->address,
      sign * static_cast<int64_t>(lease.block->size),
      stats.allocated_bytes[0].current,
      stats.reserved_bytes[0].current,
      c10::Device(kMusa, lease.device));
}

void give_back(void* address) {
  if (!free_device_memory(address)) {
    TORCH_WARN("musasim: freed memory that was not handed out: ", address);
  }
}

// A capture's results keep their place, and their graph owns them.
void leave_in_place(void*) {}

c10::DataPtr lease_for_replay(FollowAllocations& plan, c10::DeviceIndex device, size_t bytes, c10::Device label) {
  if (void* address = plan.next(bytes)) {
    return {address, address, &leave_in_place, label};
  }
  void* address = take_scratch(bytes);
  leases().add(address, Lease{nullptr, device, bytes, nullptr, nullptr});
  note_allocation(bytes, address);
  return {address, address, &give_back, label};
}

c10::DataPtr lease_from(AllocatorRef allocator, c10::DeviceIndex device, size_t bytes, c10::Device label) {
  void* stream = stream_handle(current_stream(device));
  void* address = allocator->alloc(bytes, device, stream);
  TORCH_CHECK_WITH(
      OutOfMemoryError, address != nullptr, "MUSA out of memory. The pluggable allocator has no ", bytes, " bytes.");
  leases().add(address, Lease{nullptr, device, bytes, std::move(allocator), stream});
  return {address, address, &give_back, label};
}

std::atomic<bool> g_caching{true};

AllocatorRef uncached() {
  static const auto* allocator = new AllocatorRef(std::make_shared<PluggableAllocator>(uncached_allocator()));
  return *allocator;
}

c10::DataPtr lease_memory(c10::DeviceIndex device, size_t bytes, c10::Device label) {
  refuse_after_fork();
  if (bytes == 0) {
    return {nullptr, label};
  }
  if (auto* plan = followed_plan(); C10_UNLIKELY(plan != nullptr)) {
    return lease_for_replay(*plan, device, bytes, label);
  }
  mark_allocator_used();
  if (auto plugged = current_allocator(); C10_UNLIKELY(plugged != nullptr)) {
    return lease_from(std::move(plugged), resolve_device(device), bytes, label);
  }
  TORCH_CHECK_WITH(
      OutOfMemoryError, bytes < (size_t{1} << 60), "MUSA out of memory. Tried to allocate more than 1EB memory.");
  if (C10_UNLIKELY(!g_caching.load(std::memory_order_relaxed))) {
    refuse_device_allocation(device);
    return lease_from(uncached(), resolve_device(device), bytes, label);
  }
  const Lease lease{cache_of(device).allocate(bytes, current_stream(device)), device, bytes, nullptr, nullptr};
  void* address = lease.block->address;
  leases().add(address, lease);
  note_allocation(bytes, address);
  if (auto* capture = active_capture(); C10_UNLIKELY(capture != nullptr)) {
    capture->fresh.insert(address);
  }
  tell_gpu_trace([&](const auto& python) { python.trace_gpu_memory_allocation(kMusa, as_number(address)); });
  report(lease, 1);
  return {address, address, &give_back, label};
}

#if MUSASIM_TORCH_AT_LEAST(2, 9)
using AllocatorBase = c10::DeviceAllocator;
#else
using AllocatorBase = c10::Allocator;
#endif

struct MusaAllocator final : AllocatorBase {
  // A device that is full gives memory back that graphs may use. Operators, whose results do not come this way, have seen to it.
  c10::DataPtr allocate(size_t bytes) override {
    finish_graphs();
    const auto device = current_device();
    return lease_memory(device, bytes, c10::Device(kMusa, device));
  }

  void copy_data(void* destination, const void* source, std::size_t count) const override {
    musart::postponed::finish();
    const musart::DeviceWork work;
    std::memcpy(destination, source, count);
  }

#if MUSASIM_TORCH_AT_LEAST(2, 9)
  bool initialized() override {
    return true;
  }
  void emptyCache(c10::MempoolId_t) override {
    empty_cache();
  }
  void recordStream(const c10::DataPtr& ptr, c10::Stream stream) override {
    record_stream(ptr, stream);
  }
  DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    return memory_stats(device);
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    reset_accumulated_stats(device);
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    reset_peak_stats(device);
  }
  // Not in the first release that has the base class, hence no override.
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) {
    return memory_info(device);
  }
#endif
};

} // namespace

c10::DataPtr PoolAllocator::allocate(size_t /*bytes*/) {
  TORCH_CHECK(false, "this allocator is for torch.musa.MemPool");
}

void PoolAllocator::copy_data(void* to, const void* from, size_t bytes) const {
  default_copy_data(to, from, bytes);
}

PluggableAllocator uncached_allocator() {
  return {
      [](size_t bytes, int device, void*) { return musart::allocate(device, bytes, musart::Owner::Framework); },
      [](void* address, size_t, int, void*) { musart::release(address, musart::Owner::Framework); }};
}

c10::Allocator* device_allocator() {
  static auto* allocator = new MusaAllocator();
  return allocator;
}

c10::DataPtr allocate_on(c10::DeviceIndex device, size_t bytes) {
  return lease_memory(device, bytes, c10::Device(c10::DeviceType::CPU));
}

void initialise_allocator() {
  g_initialised = true;
}

void set_caching(bool enabled) {
  g_caching = enabled;
}

void* allocate_raw(size_t bytes, c10::Stream stream) {
  finish_launches();
  const auto device = stream.device_index();
  const auto before = current_stream(device);
  set_current_stream(stream);
  const auto restore = c10::make_scope_exit([&] { set_current_stream(before); });
  return lease_memory(device, bytes, c10::Device(kMusa, device)).release_context();
}

c10::DataPtr refer_to(const c10::DataPtr& memory) {
  return {memory.get(), memory.get(), &leave_in_place, memory.device()};
}

bool free_device_memory(void* address) {
  const auto lease = leases().remove(address);
  if (!lease.exists()) {
    return false;
  }
  if (lease.block != nullptr) {
    if (auto* capture = active_capture(); C10_UNLIKELY(capture != nullptr) && lease.block->segment->pool->is_private()) {
      capture->keep_contents(address, lease.bytes);
    }
    tell_gpu_trace([&](const auto& python) { python.trace_gpu_memory_deallocation(kMusa, as_number(address)); });
    report(lease, -1);
    put_down(lease);
  } else if (lease.plugged != nullptr) {
    musart::postponed::finish(); // such an allocator need not wait for the stream
    lease.plugged->free(address, lease.bytes, lease.device, lease.stream);
  } else {
    give_scratch(address, lease.bytes);
  }
  return true;
}

DevicePlace place_in_device(const void* address) {
  const auto lease = leases().find(address);
  TORCH_CHECK(lease.block != nullptr, "MUSA error: invalid argument"); // memory that did not come from the allocator
  return caches()[lease.device].place_of(lease.block);
}

void keep_while_used(const void* address, const NumberPlace& counter) {
  TORCH_INTERNAL_ASSERT(leases().add_receiver(address, counter));
}

bool collect_sent() {
  const auto done = limbo().take_done();
  for (const auto& lease : done) {
    free_lease(lease);
  }
  return !done.empty();
}

void register_tensor_memory() {
  musart::tensor_memory_at = [](const void* address) { return leases().covering(static_cast<const char*>(address)); };
}

bool is_device_memory(const c10::DataPtr& ptr) {
  return ptr.get_deleter() == &give_back || ptr.get_deleter() == &leave_in_place;
}

c10::Device device_of_pointer(const void* ptr) {
  if (const auto found = musart::find_allocation(ptr)) {
    return c10::Device(kMusa, static_cast<c10::DeviceIndex>(found->device));
  }
  if (const auto lease = leases().find(ptr); lease.exists()) {
    return c10::Device(kMusa, lease.device);
  }
  TORCH_CHECK(false, "The specified pointer resides on host memory and is not registered with any MUSA device.");
}

void empty_cache() {
  refuse_after_fork();
  finish_launches();
  collect_sent();
  for (int i = 0; i < device_count(); ++i) {
    caches()[i].empty();
  }
}

void record_stream(const c10::DataPtr& ptr, c10::Stream stream) {
  if (!is_device_memory(ptr)) {
    return; // empty, or memory that does not belong to the device's cache
  }
  const auto lease = leases().find(ptr.get_context());
  if (lease.block != nullptr) {
    caches()[lease.device].record_use(lease.block, stream);
  }
}

DeviceStats memory_stats(c10::DeviceIndex device) {
  TORCH_CHECK(
      current_allocator() == nullptr,
      "MUSAPluggableAllocator does not yet support getDeviceStats. If you need it, please file an issue describing your "
      "use case.");
  return known_cache(device).stats();
}

void reset_peak_stats(c10::DeviceIndex device) {
  known_cache(device).reset_peak();
}

void reset_accumulated_stats(c10::DeviceIndex device) {
  known_cache(device).reset_accumulated();
}

std::pair<size_t, size_t> memory_info(c10::DeviceIndex device) {
  return musart::memory_info(resolve_device(device));
}

void set_memory_fraction(c10::DeviceIndex device, double fraction) {
  const bool is_right = 0 <= fraction && fraction <= 1;
  const bool is_known = 0 <= device && device < device_count();
  constexpr const char* asked = "Allocator not initialized for device ";
  if (since(Release::v2_9_1)) {
    TORCH_CHECK(is_known, asked, int{device}, ": did you call init?");
    TORCH_CHECK(is_right, "invalid fraction:", fraction, ". Please set within [0, 1].");
  } else {
    TORCH_INTERNAL_ASSERT(is_known, asked, int{device}, ": did you call init?");
    TORCH_INTERNAL_ASSERT(is_right, "invalid fraction:", fraction, ". Please set within (0, 1).");
    set_device(device); // which stays the current one
  }
  cache_of(device).set_fraction(fraction);
}

double memory_fraction(c10::DeviceIndex device) {
  return cache_of(device).fraction();
}

std::vector<SegmentRecord> snapshot_segments() {
  std::vector<SegmentRecord> records;
  for (int i = 0; i < device_count(); ++i) {
    caches()[i].collect_segments(records);
  }
  return records;
}

std::vector<std::vector<TraceRecord>> snapshot_traces() {
  std::vector<std::vector<TraceRecord>> traces;
  for (int i = 0; i < device_count(); ++i) {
    traces.push_back(caches()[i].trace());
  }
  return traces;
}

// Switching it off discards the recorded history.
void record_history(const HistorySettings& settings) {
  set_history(settings);
  for (int i = 0; i < device_count() && (settings.clears || !settings.enabled); ++i) {
    caches()[i].forget_trace();
  }
}

PoolId new_pool_id(bool user_created) {
  static std::atomic<unsigned long long> counters[2] = {{1}, {1}};
  const auto number = counters[user_created ? 1 : 0]++;
  return user_created ? PoolId{0, number} : PoolId{number, 0};
}

void retain_pool(c10::DeviceIndex device, PoolId pool) {
  cache_of(device).retain_pool(pool);
}

void set_pool_allocator(PoolId pool, AllocatorRef allocator) {
  for (auto& cache : caches()) {
    cache.set_pool_allocator(pool, allocator);
  }
}

void begin_allocate_to_pool(c10::DeviceIndex device, PoolId pool, bool every_stream) {
  const auto only = every_stream ? std::nullopt : std::make_optional(current_stream(device));
  known_cache(device).begin_pool(pool, only, std::nullopt);
}

void begin_allocate_thread_to_pool(c10::DeviceIndex device, PoolId pool) {
  cache_of(device).begin_pool(pool, std::nullopt, std::this_thread::get_id());
}

void set_pool_options(c10::DeviceIndex device, PoolId pool, PoolOptions options) {
  cache_of(device).set_pool_options(pool, options);
}

int pool_use_count(c10::DeviceIndex device, PoolId pool) {
  return cache_of(device).pool_use_count(pool);
}

void end_allocate_to_pool(c10::DeviceIndex device, PoolId pool) {
  known_cache(device).end_pool(pool);
}

void release_pool(c10::DeviceIndex device, PoolId pool) {
  // A pool object that is gone before torch_musa is initialised has no memory; its destructor must not raise.
  if (g_initialised.load()) {
    known_cache(device).release_pool(pool);
  }
}

std::shared_ptr<const PoolState> pool_state(c10::DeviceIndex device, PoolId pool) {
  return std::make_shared<const PoolState>(cache_of(device).pool_state(pool));
}

PoolChange restore_pool(c10::DeviceIndex device, const PoolState& state) {
  const auto restored = cache_of(device).restore_pool(state);
  PoolChange change;
  for (void* address : restored.freed) {
    leases().remove(address);
    change.freed.push_back(address);
  }
  for (Block* block : restored.allocated) {
    void* address = block->address;
    leases().add(address, Lease{block, resolve_device(device), block->requested, nullptr, nullptr});
    change.allocated.emplace_back(address, address, &give_back, c10::Device(kMusa, resolve_device(device)));
  }
  return change;
}

std::set<const void*> live_in_pool(c10::DeviceIndex device, PoolId pool) {
  return cache_of(device).live_in_pool(pool);
}

bool is_owned(const c10::DataPtr& memory) {
  return memory.get_deleter() == &give_back;
}

bool disown(c10::DataPtr& memory) {
  return memory.compare_exchange_deleter(&give_back, &leave_in_place);
}

} // namespace musasim
