// c10::musa's devices and streams, for extensions: torch_musa/csrc/core/MUSAFunctions.h, MUSAStream.h, MUSAException.h.
#include "torch_musa/csrc/core/MUSAStream.h"

#include "../runtime/stream.h"

#include <c10/util/Exception.h>

namespace c10::musa {

DeviceIndex device_count() noexcept {
  return musasim::device_count();
}

DeviceIndex device_count_ensure_non_zero() {
  TORCH_CHECK(musasim::device_count() > 0, "No MUSA GPUs are available");
  return musasim::device_count();
}

DeviceIndex current_device() {
  return musasim::current_device();
}

void set_device(DeviceIndex device) {
  musasim::set_device(device);
}

DeviceIndex ExchangeDevice(DeviceIndex device) {
  return musasim::exchange_device(device);
}

DeviceIndex MaybeExchangeDevice(DeviceIndex device) {
  return device < 0 ? DeviceIndex{-1} : musasim::exchange_device(device);
}

void device_synchronize() {
  musasim::synchronize_device(musasim::current_device());
}

void stream_synchronize(musaStream_t stream) {
  getStreamFromExternal(stream, musasim::current_device()).synchronize();
}

musaStream_t MUSAStream::stream() const {
  return static_cast<musaStream_t>(musasim::stream_handle(stream_));
}

MUSAStream getStreamFromPool(bool isHighPriority, DeviceIndex device) {
  return getStreamFromPool(isHighPriority ? musasim::kHighestPriority : 0, device);
}

MUSAStream getStreamFromPool(int priority, DeviceIndex device) {
  return MUSAStream(musasim::pool_stream(device, priority));
}

MUSAStream getStreamFromExternal(musaStream_t stream, DeviceIndex device) {
  return MUSAStream(musasim::external_stream(device, stream));
}

MUSAStream getDefaultMUSAStream(DeviceIndex device) {
  return MUSAStream(musasim::default_stream(device));
}

MUSAStream getCurrentMUSAStream(DeviceIndex device) {
  return MUSAStream(musasim::current_stream(device));
}

void setCurrentMUSAStream(MUSAStream stream) {
  musasim::set_current_stream(stream.unwrap());
}

void c10_musa_check_implementation(int32_t error, const char*, const char*, int, bool) {
  if (C10_UNLIKELY(error != musaSuccess)) {
    (void)musaGetLastError();
    musasim::raise_musa_error(musaGetErrorString(static_cast<musaError_t>(error)));
  }
}

} // namespace c10::musa
