#pragma once

#include "torch_musa/csrc/core/MUSAFunctions.h"

namespace torch::musa {

inline c10::DeviceIndex device_count() {
  return c10::musa::device_count();
}

inline bool is_available() {
  return c10::musa::device_count() > 0;
}

inline void synchronize(int64_t device = -1) {
  const auto previous = c10::musa::MaybeExchangeDevice(static_cast<c10::DeviceIndex>(device));
  c10::musa::device_synchronize();
  c10::musa::MaybeExchangeDevice(previous);
}

} // namespace torch::musa
