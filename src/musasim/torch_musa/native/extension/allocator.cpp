// c10::musa::MUSACachingAllocator, for extensions: torch_musa/csrc/core/MUSACachingAllocator.h.
#include "torch_musa/csrc/core/MUSACachingAllocator.h"

#include "../runtime/allocator.h"

#include <cstring>

namespace musasim {
namespace {

struct AllocatorForExtensions final : c10::musa::MUSACachingAllocator::MUSAAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    return device_allocator()->allocate(bytes);
  }
  void copy_data(void* destination, const void* source, std::size_t count) const override {
    device_allocator()->copy_data(destination, source, count);
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return [](void* address) { free_device_memory(address); };
  }

  void* raw_alloc(size_t bytes) override {
    return allocate(bytes).release_context();
  }
  void* raw_alloc_with_stream(size_t bytes, musaStream_t stream) override {
    const auto device = current_device();
    const auto previous = current_stream(device);
    set_current_stream(external_stream(device, stream));
    void* address = nullptr;
    try {
      address = raw_alloc(bytes);
    } catch (...) {
      set_current_stream(previous);
      throw;
    }
    set_current_stream(previous);
    return address;
  }
  void raw_delete(void* address) override {
    TORCH_CHECK(address == nullptr || free_device_memory(address), "invalid device pointer: ", address);
  }

  bool initialized() override {
    return true;
  }
  void emptyCache() override {
    empty_cache();
  }
  void recordStream(const c10::DataPtr& memory, c10::musa::MUSAStream stream) override {
    record_stream(memory, stream.unwrap());
  }
  void setMemoryFraction(double fraction, c10::DeviceIndex device) override {
    set_memory_fraction(device, fraction);
  }
};

} // namespace
} // namespace musasim

namespace c10::musa::MUSACachingAllocator {

MUSAAllocator* get() {
  static auto* allocator = new musasim::AllocatorForExtensions();
  return allocator;
}

} // namespace c10::musa::MUSACachingAllocator

namespace at::musa {

C10_MUSA_API c10::Allocator* getMUSADeviceAllocator(); // as in torch_musa/csrc/aten/musa/MUSAContextLight.h

c10::Allocator* getMUSADeviceAllocator() {
  return c10::musa::MUSACachingAllocator::get();
}

} // namespace at::musa
