#pragma once

#include "torch_musa/csrc/aten/utils/Utils.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

namespace c10::musa::impl {

// The interface for c10's guard templates. It calls the device guard that is registered in this process.
struct MUSAGuardImpl final {
  static constexpr DeviceType static_type = at::musa::kMUSA;

  MUSAGuardImpl() = default;
  explicit MUSAGuardImpl(DeviceType type) {
    TORCH_CHECK(type == static_type, "expected a MUSA device, but got ", type);
  }

  DeviceType type() const {
    return static_type;
  }
  Device getDevice() const {
    return registered()->getDevice();
  }
  Device exchangeDevice(Device device) const {
    return registered()->exchangeDevice(device);
  }
  void setDevice(Device device) const {
    registered()->setDevice(device);
  }
  void uncheckedSetDevice(Device device) const noexcept {
    registered()->uncheckedSetDevice(device);
  }
  DeviceIndex deviceCount() const noexcept {
    return registered()->deviceCount();
  }
  Stream getStream(Device device) const {
    return registered()->getStream(device);
  }
  Stream getDefaultStream(Device device) const {
    return registered()->getDefaultStream(device);
  }
  Stream exchangeStream(Stream stream) const {
    return registered()->exchangeStream(stream);
  }

 private:
  static const c10::impl::DeviceGuardImplInterface* registered() {
    return c10::impl::getDeviceGuardImpl(static_type);
  }
};

} // namespace c10::musa::impl
