#include "hooks.h"

#include "allocator.h"
#include "generator.h"
#include "host_allocator.h"
#include "trace.h"
#include "version.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>

#include <algorithm>
#include <cstring>

namespace musasim {
namespace {

struct MusaHooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override {
    return true;
  }
  bool isAvailable() const override {
    return device_count() > 0;
  }
  bool hasPrimaryContext(c10::DeviceIndex device) const override {
    check_device(device);
    return true;
  }
  void init() const override {
    refuse_after_fork();
  }

  c10::DeviceIndex deviceCount() const override {
    return device_count();
  }
  void setCurrentDevice(c10::DeviceIndex device) const override {
    set_device(device);
  }
  c10::DeviceIndex getCurrentDevice() const override {
    return current_device();
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    return exchange_device(device);
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return device < 0 ? -1 : exchange_device(device);
  }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return default_generator(device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return make_generator(device);
  }

  bool isPinnedPtr(const void* data) const override {
    const TracedCall call("musaPointerGetAttributes");
    return is_pinned(data);
  }
  c10::Allocator* getPinnedMemoryAllocator() const override {
    return pinned_allocator();
  }
  c10::Device getDeviceFromPtr(void* data) const override {
    return device_of_pointer(data);
  }

  // Storage.resize_. at::native::resize_bytes_nocuda would call straight back into this hook.
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    auto* impl = storage.unsafeGetStorageImpl();
    TORCH_CHECK(impl->resizable(), "Trying to resize storage that is not resizable");
    const auto previous = exchange_device(storage.device().index());
    auto fresh = device_allocator()->allocate(bytes);
    set_device_unchecked(previous);
    finish_launches();
    const musart::DeviceWork work;
    std::memcpy(fresh.get(), storage.data(), std::min(bytes, storage.nbytes()));
    impl->set_data_ptr_noswap(std::move(fresh));
    impl->set_nbytes(bytes);
  }
};

} // namespace

void register_hooks() {
  static bool done = false;
  if (!done) {
    at::RegisterPrivateUse1HooksInterface(new MusaHooks());
    done = true;
  }
}

} // namespace musasim
