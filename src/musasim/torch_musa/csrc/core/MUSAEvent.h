#pragma once

#include "torch_musa/csrc/core/MUSAGuard.h"
#include "torch_musa/csrc/core/MUSAStream.h"

#include <musa_runtime_api.h>

#include <optional>
#include <utility>

namespace at::musa {

// An event of the MUSA runtime, made on the device of the first stream that it is recorded on. It can be moved, not copied.
struct MUSAEvent {
  MUSAEvent() noexcept = default;
  explicit MUSAEvent(unsigned int flags) noexcept : flags_(flags) {}
  MUSAEvent(DeviceIndex device, const musaIpcEventHandle_t* handle) : device_(device) {
    const MUSAGuard guard(device);
    C10_MUSA_CHECK(musaIpcOpenEventHandle(&event_, *handle));
  }

  ~MUSAEvent() {
    if (event_ != nullptr) {
      const MUSAGuard guard(device_);
      (void)musaEventDestroy(event_);
    }
  }

  MUSAEvent(const MUSAEvent&) = delete;
  MUSAEvent& operator=(const MUSAEvent&) = delete;
  MUSAEvent(MUSAEvent&& other) noexcept {
    swap(other);
  }
  MUSAEvent& operator=(MUSAEvent&& other) noexcept {
    swap(other);
    return *this;
  }

  operator musaEvent_t() const {
    return event();
  }
  std::optional<at::Device> device() const {
    return isCreated() ? std::make_optional(at::Device(kMUSA, device_)) : std::nullopt;
  }
  bool isCreated() const {
    return event_ != nullptr;
  }
  DeviceIndex device_index() const {
    return device_;
  }
  musaEvent_t event() const {
    return event_;
  }

  bool query() const {
    if (!isCreated()) {
      return true;
    }
    const auto error = musaEventQuery(event_);
    if (error == musaErrorNotReady) {
      (void)musaGetLastError();
      return false;
    }
    C10_MUSA_CHECK(error);
    return true;
  }

  void record() {
    record(getCurrentMUSAStream());
  }
  void recordOnce(const MUSAStream& stream) {
    if (!was_recorded_) {
      record(stream);
    }
  }
  void record(const MUSAStream& stream) {
    create(stream.device_index());
    TORCH_CHECK(
        device_ == stream.device_index(),
        "Event device ",
        device_,
        " does not match recording stream's device ",
        stream.device_index(),
        ".");
    const MUSAGuard guard(device_);
    C10_MUSA_CHECK(musaEventRecord(event_, stream));
    was_recorded_ = true;
  }
  void block(const MUSAStream& stream) {
    if (isCreated()) {
      const MUSAGuard guard(stream.device_index());
      C10_MUSA_CHECK(musaStreamWaitEvent(stream, event_, 0));
    }
  }
  void synchronize() const {
    if (isCreated()) {
      C10_MUSA_CHECK(musaEventSynchronize(event_));
    }
  }

  // Milliseconds from this event to `other`.
  float elapsed_time(const MUSAEvent& other) const {
    TORCH_CHECK(isCreated() && other.isCreated(), "Both events must be recorded before calculating elapsed time.");
    float milliseconds = 0;
    const MUSAGuard guard(device_);
    C10_MUSA_CHECK(musaEventElapsedTime(&milliseconds, event_, other.event_));
    return milliseconds;
  }

  void ipc_handle(musaIpcEventHandle_t* handle) {
    create(getCurrentMUSAStream().device_index());
    const MUSAGuard guard(device_);
    C10_MUSA_CHECK(musaIpcGetEventHandle(handle, event_));
  }

 private:
  void create(DeviceIndex device) {
    if (!isCreated()) {
      const MUSAGuard guard(device);
      C10_MUSA_CHECK(musaEventCreateWithFlags(&event_, flags_));
      device_ = device;
    }
  }
  void swap(MUSAEvent& other) noexcept {
    std::swap(flags_, other.flags_);
    std::swap(device_, other.device_);
    std::swap(event_, other.event_);
    std::swap(was_recorded_, other.was_recorded_);
  }

  unsigned int flags_ = musaEventDisableTiming;
  DeviceIndex device_ = -1;
  musaEvent_t event_ = nullptr;
  bool was_recorded_ = false;
};

} // namespace at::musa
