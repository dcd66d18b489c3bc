#pragma once

#include "torch_musa/csrc/core/MUSAFunctions.h"
#include "torch_musa/csrc/core/MUSAException.h"

#include <c10/core/Allocator.h>
#include <musa_runtime_api.h>

#include <array>
#include <cstdint>

// The vendor's header brings the libraries' along. The simulator's own native part is compiled without the toolkit that has them.
#if __has_include(<mublas.h>)
#include "torch_musa/csrc/core/MUSAStream.h"

#include <mublas.h>
#include <mublasLt.h>
#include <musparse.h>
#endif

namespace at::musa {

#if __has_include(<mublas.h>)
// The calling thread's handle for the current device, on the current stream. Whoever calls it is linked with libmublas.
inline mublasHandle_t getCurrentMUSABlasHandle() {
  thread_local std::array<mublasHandle_t, C10_COMPILE_TIME_MAX_MUSA_GPUS> handles{};
  auto& handle = handles[static_cast<size_t>(c10::musa::current_device())];
  if (handle == nullptr) {
    TORCH_CHECK(mublasCreate(&handle) == MUBLAS_STATUS_SUCCESS, "mublasCreate failed");
  }
  TORCH_CHECK(
      mublasSetStream(handle, c10::musa::getCurrentMUSAStream()) == MUBLAS_STATUS_SUCCESS, "mublasSetStream failed");
  return handle;
}
#endif

inline int64_t getNumGPUs() {
  return c10::musa::device_count();
}

inline bool is_available() {
  return c10::musa::device_count() > 0;
}

inline musaDeviceProp* getDeviceProperties(c10::DeviceIndex device) {
  static auto* all = [] {
    auto* made = new std::array<musaDeviceProp, C10_COMPILE_TIME_MAX_MUSA_GPUS>();
    for (int index = 0; index < c10::musa::device_count(); ++index) {
      C10_MUSA_CHECK(musaGetDeviceProperties(&(*made)[static_cast<size_t>(index)], index));
    }
    return made;
  }();
  if (device == -1) {
    device = c10::musa::current_device();
  }
  TORCH_CHECK(device >= 0 && device < c10::musa::device_count(), "device=", int{device}, " is no MUSA device");
  return &(*all)[static_cast<size_t>(device)];
}

inline musaDeviceProp* getCurrentDeviceProperties() {
  return getDeviceProperties(c10::musa::current_device());
}

inline int warp_size() {
  return getCurrentDeviceProperties()->warpSize;
}

inline bool canDeviceAccessPeer(c10::DeviceIndex device, c10::DeviceIndex peer) {
  int can = 0;
  C10_MUSA_CHECK(musaDeviceCanAccessPeer(&can, device, peer));
  return can != 0;
}

C10_MUSA_API c10::Allocator* getMUSADeviceAllocator();

} // namespace at::musa
