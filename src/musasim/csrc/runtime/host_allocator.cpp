#include "host_allocator.h"

#include "device.h"
#include "stream.h"
#include "version.h"

#include <ATen/core/CachingHostAllocator.h>

#include <cstring>

namespace musasim {
namespace {

void release(void* ptr) {
  musart::release_pinned(ptr);
}

c10::DataPtr allocate_pinned(size_t bytes) {
  refuse_after_fork();
  const c10::Device host(c10::DeviceType::CPU);
  if (bytes == 0) {
    return {nullptr, host};
  }
  void* memory = musart::allocate_pinned(bytes);
  TORCH_CHECK(memory != nullptr, "MUSA error: out of memory (pinned allocation)");
  return {memory, memory, &release, host};
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

void register_host_allocator() {
#if MUSASIM_TORCH_AT_LEAST(2, 8)
  at::setHostAllocator(kMusa, &instance());
#endif
}

} // namespace musasim
