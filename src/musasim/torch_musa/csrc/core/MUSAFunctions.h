#pragma once

#include <c10/musa/MUSAMacros.h>

#include <c10/core/Device.h>
#include <musa_runtime_api.h>

#include <optional>

namespace c10::musa {

C10_MUSA_API DeviceIndex device_count() noexcept;
C10_MUSA_API DeviceIndex device_count_ensure_non_zero();
C10_MUSA_API DeviceIndex current_device();
C10_MUSA_API void set_device(DeviceIndex device);
C10_MUSA_API DeviceIndex ExchangeDevice(DeviceIndex device);
C10_MUSA_API DeviceIndex MaybeExchangeDevice(DeviceIndex device);
C10_MUSA_API void device_synchronize();
C10_MUSA_API void stream_synchronize(musaStream_t stream);

} // namespace c10::musa
