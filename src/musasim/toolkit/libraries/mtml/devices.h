// The machine's devices as the management library shows them, and the handles that programs hold of them.
#pragma once

#include "types.h"

#include "../../../musart/driver/device.h"
#include "../../../musart/ground/environment.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

struct MtmlGpu {};
struct MtmlMemory {};
struct MtmlDevice {
  char itself; // so that no part has the address of the device
  MtmlGpu gpu;
  MtmlMemory memory;
};
struct MtmlLibrary {};
struct MtmlSystem {};

namespace mtml {

inline std::atomic<int> g_open{0};
inline MtmlLibrary g_library;
inline MtmlSystem g_system;
inline std::array<MtmlDevice, musart::kMaxDevices> g_devices;

// All devices of the machine, as many as the driver finds there.
inline int count() {
  return static_cast<int>(musart::read_number("MUSASIM_DEVICE_COUNT", 2, 0, musart::kMaxDevices));
}

inline int bus(int index) {
  return index + 1; // as musaDevAttrPciBusId
}

inline std::string address(int index) {
  char text[32];
  std::snprintf(text, sizeof(text), "00000000:%02x:00.0", static_cast<unsigned>(bus(index)));
  return text;
}

// As torch.musa.get_device_properties() and mthreads-gmi write it.
inline std::string identity(int index) {
  char text[48];
  std::snprintf(text, sizeof(text), "00000000-0000-0000-0000-%012x", static_cast<unsigned>(bus(index)));
  return text;
}

inline bool is_open(const MtmlLibrary* library) {
  return library == &g_library && g_open > 0;
}

// The number of the device that a handle is of, or -1.
template <typename Part>
inline int index_of(const Part* handle, const Part* (*part)(const MtmlDevice&)) {
  for (int index = 0; g_open > 0 && handle != nullptr && index < count(); ++index) {
    if (part(g_devices[static_cast<size_t>(index)]) == handle) {
      return index;
    }
  }
  return -1;
}

inline int index_of(const MtmlDevice* handle) {
  return index_of<MtmlDevice>(handle, [](const MtmlDevice& device) { return &device; });
}

inline int index_of(const MtmlGpu* handle) {
  return index_of<MtmlGpu>(handle, [](const MtmlDevice& device) { return &device.gpu; });
}

inline int index_of(const MtmlMemory* handle) {
  return index_of<MtmlMemory>(handle, [](const MtmlDevice& device) { return &device.memory; });
}

template <typename Handle, typename Value>
inline MtmlReturn answer(const Handle* handle, Value* value, Value (*of)(int index)) {
  const int index = index_of(handle);
  if (index < 0 || value == nullptr) {
    return MTML_ERROR_INVALID_ARGUMENT;
  }
  *value = of(index);
  return MTML_SUCCESS;
}

inline MtmlReturn write(const std::string& text, char* buffer, unsigned int length) {
  if (buffer == nullptr) {
    return MTML_ERROR_INVALID_ARGUMENT;
  }
  if (length <= text.size()) {
    return MTML_ERROR_INSUFFICIENT_SIZE;
  }
  std::memcpy(buffer, text.c_str(), text.size() + 1);
  return MTML_SUCCESS;
}

inline MtmlReturn write(const MtmlDevice* device, char* buffer, unsigned int length, std::string (*of)(int index)) {
  const int index = index_of(device);
  return index < 0 ? MTML_ERROR_INVALID_ARGUMENT : write(of(index), buffer, length);
}

} // namespace mtml
