#include "guard.h"

#include "allocator.h"
#include "capture.h"
#include "gpu_trace.h"
#include "release.h"
#include "stream.h"
#include "version.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace musasim {
namespace {

struct GuardImpl final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override {
    return kMusa;
  }
  c10::Device getDevice() const override {
    return c10::Device(kMusa, current_device());
  }
  c10::Device exchangeDevice(c10::Device device) const override {
    TORCH_INTERNAL_ASSERT(device.type() == kMusa);
    const auto index = device.index() == -1 ? current_device() : device.index();
    return c10::Device(kMusa, exchange_device(index));
  }
  void setDevice(c10::Device device) const override {
    TORCH_INTERNAL_ASSERT(device.type() == kMusa);
    if (device.index() != -1) {
      exchange_device(device.index());
    }
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    set_device_unchecked(device.index());
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return device_count();
  }
#if MUSASIM_TORCH_AT_LEAST(2, 11)
  c10::DeviceCapability getDeviceCapability(c10::Device) const override {
    return {}; // all dtypes, because the kernels are the CPU's
  }
#endif

  c10::Stream getStream(c10::Device device) const override {
    return current_stream(device.index());
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return default_stream(device.index());
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool high_priority) const override {
    return pool_stream(device.index(), high_priority ? kHighestPriority : 0);
  }
  c10::Stream getNewStream(c10::Device device, int priority) const override {
    return pool_stream(device.index(), priority);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const auto previous = current_stream(stream.device_index());
    set_current_stream(stream);
    return previous;
  }
  bool queryStream(const c10::Stream& stream) const override {
    return is_idle(stream);
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    synchronize_stream(stream);
  }
  void synchronizeDevice(const c10::DeviceIndex device) const override {
    if (since(Release::v2_11_0)) {
      synchronize_device(device);
    } else { // the real guard leaves it out, and torch.accelerator.synchronize() fails there
      DeviceGuardImplInterface::synchronizeDevice(device);
    }
  }
  void recordDataPtrOnStream(const c10::DataPtr& ptr, const c10::Stream& stream) const override {
    record_stream(ptr, stream);
  }
  // Newer than the oldest torch that is supported, hence no override.
  void* getStreamNativeHandle(const c10::Stream stream) const {
    return stream_handle(stream);
  }
  bool isStreamCapturing(const c10::Stream& stream) const {
    return is_capturing(stream);
  }

  void record(void** event, const c10::Stream& stream, c10::DeviceIndex device, c10::EventFlag flag)
      const override {
    TORCH_CHECK(
        device == -1 || device == stream.device_index(),
        "Event device index ",
        device,
        " does not match recording stream's device index ",
        stream.device_index(),
        ".");
    if (*event == nullptr) {
      *event = musart::create_event(flag == c10::EventFlag::BACKEND_DEFAULT);
      tell_gpu_trace([&](const auto& python) { python.trace_gpu_event_creation(kMusa, as_number(*event)); });
    }
    record_event(*static_cast<EventState*>(*event), stream);
    tell_gpu_trace([&](const auto& python) {
      python.trace_gpu_event_record(kMusa, as_number(*event), as_number(stream_handle(stream)));
    });
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event != nullptr) {
      block_on_event(*static_cast<EventState*>(event), stream);
      tell_gpu_trace([&](const auto& python) {
        python.trace_gpu_event_wait(kMusa, as_number(event), as_number(stream_handle(stream)));
      });
    }
  }
  bool queryEvent(void* event) const override {
    return event == nullptr || is_complete(*static_cast<EventState*>(event));
  }
  void synchronizeEvent(void* event) const override {
    if (event != nullptr) {
      tell_gpu_trace([&](const auto& python) { python.trace_gpu_event_synchronization(kMusa, as_number(event)); });
      synchronize_event(*static_cast<EventState*>(event));
    }
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    if (event != nullptr) {
      tell_gpu_trace([&](const auto& python) { python.trace_gpu_event_deletion(kMusa, as_number(event)); });
    }
    musart::destroy_event(static_cast<EventState*>(event));
  }
  double elapsedTime(void* begin, void* end, c10::DeviceIndex) const override {
    TORCH_CHECK(begin != nullptr && end != nullptr, "Both events must be recorded before calculating elapsed time.");
    const auto& first = *static_cast<EventState*>(begin);
    const auto& second = *static_cast<EventState*>(end);
    TORCH_CHECK(
        is_complete(first) && is_complete(second), "Both events must be completed before calculating elapsed time.");
    return elapsed_ms(first, second);
  }
};

} // namespace

void register_guard() {
  static auto* impl = new GuardImpl();
  static c10::impl::DeviceGuardImplRegistrar registrar(kMusa, impl);
}

} // namespace musasim
