#pragma once

#include <c10/musa/MUSAMacros.h>

#include <c10/core/Device.h>
#include <musa_runtime_api.h>

#include "torch_musa/csrc/core/MUSAException.h"

#include <optional>

namespace c10::musa {

C10_MUSA_API DeviceIndex device_count() noexcept;
C10_MUSA_API DeviceIndex device_count_ensure_non_zero();
C10_MUSA_API DeviceIndex current_device();
C10_MUSA_API void set_device(DeviceIndex device);
C10_MUSA_API DeviceIndex ExchangeDevice(DeviceIndex device);
C10_MUSA_API DeviceIndex MaybeExchangeDevice(DeviceIndex device);
C10_MUSA_API void device_synchronize();

inline bool is_musa_available() {
  return device_count() > 0;
}
inline musaError_t GetDeviceCount(int* count) {
  return musaGetDeviceCount(count);
}
inline musaError_t GetDevice(DeviceIndex* device) {
  int index = -1;
  const auto error = musaGetDevice(&index);
  *device = static_cast<DeviceIndex>(index);
  return error;
}
inline musaError_t SetDevice(DeviceIndex device) {
  return device < 0 ? musaErrorInvalidDevice : musaSetDevice(device);
}
// As SetDevice, for code that may run before a device is needed.
inline musaError_t MaybeSetDevice(DeviceIndex device) {
  return SetDevice(device);
}
// A simulated device has its context from the start.
inline bool hasPrimaryContext(DeviceIndex device) {
  TORCH_CHECK(device >= 0 && device < device_count(), "hasPrimaryContext: there is no MUSA device ", int{device});
  return true;
}
inline int32_t GetDriverVersion() {
  int version = -1;
  return musaDriverGetVersion(&version) == musaSuccess ? version : -1;
}
inline void memcpy_and_sync(void* to, const void* from, int64_t bytes, musaMemcpyKind kind, musaStream_t stream) {
  C10_MUSA_CHECK(musaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream));
  C10_MUSA_CHECK(musaStreamSynchronize(stream));
}
C10_MUSA_API void stream_synchronize(musaStream_t stream);

} // namespace c10::musa
