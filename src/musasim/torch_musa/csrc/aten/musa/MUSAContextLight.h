#pragma once

#include "torch_musa/csrc/core/MUSAFunctions.h"
#include "torch_musa/csrc/core/MUSAException.h"

#include <c10/core/Allocator.h>
#include <mublas.h>
#include <mublasLt.h>
#include <musa_runtime_api.h>
#include <musparse.h>

#include <array>
#include <cstdint>

namespace at::musa {

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

// For the calling thread, with the stream that is current. The sparse one has CUDA's name in torch_musa, too.
C10_MUSA_API mublasHandle_t getCurrentMUSABlasHandle();
C10_MUSA_API mublasLtHandle_t getCurrentMUSABlasLtHandle();
C10_MUSA_API musparseHandle_t getCurrentCUDASparseHandle();

} // namespace at::musa
