#include "host_allocator.h"

#include "device.h"
#include "stream.h"
#include "trace.h"
#include "version.h"
#include "musart/driver/postponed.h"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/util/llvmMathExtras.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace musasim {
namespace {

// Pinned memory is kept for reuse, in blocks of powers of two. A block that copies still use is not handed out before the
// streams of these copies have reached their ends.
class PinnedCache {
 public:
  void* take(size_t bytes) {
    const size_t size = c10::llvm::PowerOf2Ceil(bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    collect();
    auto& free = free_[size];
    void* address = free.empty() ? take_from_driver(size) : free.back();
    if (!free.empty()) {
      free.pop_back();
    }
    if (address != nullptr) {
      in_use_[address] = {size, {}};
      stats_.used_blocks.increase(1);
      stats_.used_bytes.increase(size);
    }
    return address;
  }
  void give(void* address) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = in_use_.find(address);
    if (found != in_use_.end()) {
      stats_.used_blocks.decrease(1);
      stats_.used_bytes.decrease(found->second.size);
      pending_.push_back({address, found->second});
      in_use_.erase(found);
      collect();
    }
  }
  bool record_use(const void* address, c10::Stream stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = in_use_.find(const_cast<void*>(address));
    if (found == in_use_.end()) {
      return false;
    }
    found->second.done_ns = std::max(found->second.done_ns, completion_ns(stream));
    return true;
  }
  void empty() {
    musart::postponed::finish();
    const std::lock_guard<std::mutex> lock(mutex_);
    collect();
    for (auto& [size, blocks] : free_) {
      for (void* address : blocks) {
        const auto begin = now_ns();
        const TracedCall call("musaFreeHost");
        musart::release_pinned(address);
        stats_.releasing.add((now_ns() - begin) / 1000);
        stats_.blocks.decrease(1);
        stats_.bytes.decrease(size);
      }
      blocks.clear();
    }
  }

  PinnedStats stats() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stats_;
  }
  void for_each_stat(void (c10::CachingAllocator::Stat::*reset)()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto* stat : {&stats_.blocks, &stats_.bytes, &stats_.used_blocks, &stats_.used_bytes}) {
      (stat->*reset)();
    }
  }
  void forget_times() {
    const std::lock_guard<std::mutex> lock(mutex_);
    stats_.taking = stats_.releasing = {};
  }

 private:
  struct Use {
    size_t size;
    int64_t done_ns = 0;
  };
  struct Pending {
    void* address;
    Use use;
  };

  void* take_from_driver(size_t size) {
    const auto begin = now_ns();
    const TracedCall call("musaHostAlloc");
    void* address = musart::allocate_pinned(size);
    if (address != nullptr) {
      stats_.taking.add((now_ns() - begin) / 1000);
      stats_.blocks.increase(1);
      stats_.bytes.increase(size);
    }
    return address;
  }

  void collect() {
    const auto now = now_ns();
    const bool any_waits = musart::postponed::any(); // by MUSASIM_SEED; it cannot run under this lock
    const auto done = std::partition(pending_.begin(), pending_.end(), [&](const Pending& each) {
      return each.use.done_ns > now || (each.use.done_ns != 0 && any_waits);
    });
    for (auto it = done; it != pending_.end(); ++it) {
      musart::streamcheck::forget(it->address, it->use.size);
      free_[it->use.size].push_back(it->address);
    }
    pending_.erase(done, pending_.end());
  }

  std::mutex mutex_;
  std::map<size_t, std::vector<void*>> free_;
  std::unordered_map<void*, Use> in_use_;
  std::vector<Pending> pending_;
  PinnedStats stats_;
};

PinnedCache& pinned_cache() {
  static auto* cache = new PinnedCache();
  return *cache;
}

void release(void* ptr) {
  pinned_cache().give(ptr);
}

c10::DataPtr allocate_pinned(size_t bytes) {
  refuse_after_fork();
  const c10::Device host(c10::DeviceType::CPU);
  if (bytes == 0) {
    return {nullptr, host};
  }
  void* memory = pinned_cache().take(bytes);
  TORCH_CHECK(memory != nullptr, "MUSA error: out of memory (pinned allocation)");
  return {memory, memory, &release, host};
}

#if MUSASIM_TORCH_AT_LEAST(2, 8)
struct PinnedAllocator final : at::HostAllocator {
  bool record_event(void*, void* context, c10::Stream stream) override {
    return record_pinned_use(context, stream);
  }
  void empty_cache() override {
    pinned_cache().empty();
  }
  at::HostStats get_stats() override {
    return {};
  }
  void reset_accumulated_stats() override {}
  void reset_peak_stats() override {}
#else
struct PinnedAllocator final : c10::Allocator {
#endif
  c10::DataPtr allocate(size_t bytes) override {
    return allocate_pinned(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return &release;
  }
  void copy_data(void* destination, const void* source, std::size_t count) const override {
    std::memcpy(destination, source, count);
  }
};

PinnedAllocator& instance() {
  static auto* allocator = new PinnedAllocator();
  return *allocator;
}

} // namespace

c10::Allocator* pinned_allocator() {
  return &instance();
}

bool record_pinned_use(const void* context, c10::Stream stream) {
  return pinned_cache().record_use(context, stream);
}

void empty_pinned_cache() {
  pinned_cache().empty();
}

void CallTimes::add(int64_t microseconds) {
  total += microseconds;
  longest = std::max(longest, microseconds);
  shortest = count == 0 ? microseconds : std::min(shortest, microseconds);
  ++count;
}

PinnedStats pinned_stats() {
  return pinned_cache().stats();
}

void reset_accumulated_pinned_stats() {
  pinned_cache().for_each_stat(&c10::CachingAllocator::Stat::reset_accumulated);
  pinned_cache().forget_times();
}

void reset_peak_pinned_stats() {
  pinned_cache().for_each_stat(&c10::CachingAllocator::Stat::reset_peak);
}

void register_host_allocator() {
#if MUSASIM_TORCH_AT_LEAST(2, 8)
  at::setHostAllocator(kMusa, &instance());
#endif
}

} // namespace musasim
