// Unified memory: chips that share their memory with the processor need no copies.
#include "unified_memory.h"

#include "musart/driver.h"
#include "device.h"

#include <musa_runtime_api.h>

#include <atomic>
#include <cstring>

namespace musasim {
namespace {

std::atomic<bool> g_unified{false};

// A tensor may be let go when the process ends, when the driver has no use for it any more, so no error is raised.
void free_managed(void* address) {
  if (address != nullptr) {
    musaFree(address);
  }
}

struct UnifiedHostAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* address = nullptr;
    TORCH_CHECK_WITH(
        OutOfMemoryError,
        bytes == 0 || musaMallocManaged(&address, bytes, musaMemAttachGlobal) == musaSuccess,
        "MUSA error: out of memory: ",
        bytes,
        " bytes of unified memory");
    return {address, address, &free_managed, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return &free_managed;
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};

} // namespace

void use_unified_host_memory() {
  g_unified = true;
}

void use_own_host_memory() {
  g_unified = false;
}

c10::Allocator* unified_host_memory() noexcept {
  static auto* allocator = new UnifiedHostAllocator; // leaked, because tensors may outlive everything
  return C10_UNLIKELY(g_unified.load(std::memory_order_relaxed)) ? allocator : nullptr;
}

PluggableAllocator unified_allocator() {
  const auto take = [](size_t bytes, int, void*) {
    void* address = nullptr;
    return musaMallocManaged(&address, bytes, musaMemAttachGlobal) == musaSuccess ? address : nullptr;
  };
  return {take, [](void* address, size_t, int, void*) { free_managed(address); }};
}

bool free_unified_memory(void* address) {
  return musart::is_managed(address) && musaFree(address) == musaSuccess;
}

void say_device(c10::StorageImpl& storage, c10::Device device) {
  auto& memory = storage._mutable_data_ptr_no_checks();
  TORCH_CHECK(
      memory.get() == nullptr || musart::is_managed(memory.get()),
      "only a storage in unified memory can be said to be on another device: copy it instead");
  const bool whole = device.has_index() || device.is_cpu();
  memory.unsafe_set_device(whole ? device : c10::Device(device.type(), current_device()));
}

} // namespace musasim
