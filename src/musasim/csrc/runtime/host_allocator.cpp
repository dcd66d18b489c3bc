#include "host_allocator.h"

#include "device.h"
#include "stream.h"
#include "version.h"

#include <ATen/core/CachingHostAllocator.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace musasim {
namespace {

constexpr size_t kPage = 4096;

struct Ranges {
  std::shared_mutex mutex;
  std::map<const char*, size_t> sizes;
};

Ranges& ranges() {
  static auto* all = new Ranges();
  return *all;
}

void forget_and_free(void* ptr) {
  unregister_host_range(ptr);
  std::free(ptr);
}

c10::DataPtr allocate_pinned(size_t bytes) {
  refuse_after_fork();
  const c10::Device host(c10::DeviceType::CPU);
  if (bytes == 0) {
    return {nullptr, host};
  }
  void* memory = nullptr;
  TORCH_CHECK(posix_memalign(&memory, kPage, bytes) == 0, "MUSA error: out of memory (pinned allocation)");
  register_host_range(memory, bytes);
  return {memory, memory, &forget_and_free, host};
}

#if MUSASIM_TORCH_AT_LEAST(2, 8)
struct PinnedAllocator final : at::HostAllocator {
  bool record_event(void* ptr, void*, c10::Stream) override {
    return is_pinned(ptr);
  }
  void empty_cache() override {}
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
    return &forget_and_free;
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

bool is_pinned(const void* ptr) {
  const auto* address = static_cast<const char*>(ptr);
  auto& known = ranges();
  std::shared_lock<std::shared_mutex> lock(known.mutex);
  auto after = known.sizes.upper_bound(address);
  if (after == known.sizes.begin()) {
    return false;
  }
  --after;
  return address < after->first + after->second;
}

bool register_host_range(const void* ptr, size_t bytes) {
  auto& known = ranges();
  std::unique_lock<std::shared_mutex> lock(known.mutex);
  return known.sizes.emplace(static_cast<const char*>(ptr), bytes).second;
}

bool unregister_host_range(const void* ptr) {
  auto& known = ranges();
  std::unique_lock<std::shared_mutex> lock(known.mutex);
  return known.sizes.erase(static_cast<const char*>(ptr)) == 1;
}

void register_host_allocator() {
#if MUSASIM_TORCH_AT_LEAST(2, 8)
  at::setHostAllocator(kMusa, &instance());
#endif
}

} // namespace musasim
