// The parts of a device that have figures of their own: its processors and its memory.
#include "devices.h"

#include "../../../musart/driver/memory.h"
#include "../../../musart/driver/stream.h"

namespace mtml {
namespace {

constexpr unsigned kClockMHz = 1750; // as musaDevAttrClockRate
constexpr unsigned kMemoryClockMHz = 2000; // as musaDevAttrMemoryClockRate
constexpr unsigned kMemoryBusBits = 1024; // as musaDevAttrGlobalMemoryBusWidth
constexpr unsigned kDriversPart = 256; // of the memory, one part is the driver's own

unsigned long long total_memory(int) {
  return musart::device_properties().total_memory;
}

unsigned long long used_on(int visible) {
  const auto [free, total] = musart::memory_info(visible);
  return total - free;
}

// Whether this process has used some device. One that has not is not asked which devices it sees, because that would make its
// answer final, and programs choose devices by these figures.
bool is_in_use() {
  for (int device = 0; device < musart::kMaxDevices; ++device) {
    if (used_on(device) > total_memory(device) / kDriversPart || musart::last_completion(device, false) > 0) {
      return true;
    }
  }
  return false;
}

// The number of a device in this process, -1 where it uses none or does not see this one.
int visible_number(int index) {
  for (int device = 0; is_in_use() && device < musart::device_count(); ++device) {
    if (musart::physical_device(device) == index) {
      return device;
    }
  }
  return -1;
}

unsigned long long used_memory(int index) {
  const int visible = visible_number(index);
  return visible < 0 ? total_memory(index) / kDriversPart : used_on(visible);
}

unsigned int used_percent(int index) {
  const auto hundredfold = 100.0 * static_cast<double>(used_memory(index));
  return static_cast<unsigned int>(hundredfold / static_cast<double>(total_memory(index)) + 0.5);
}

// All or nothing: whether some stream of this process has work that is not done.
unsigned int busy_percent(int index) {
  const int visible = visible_number(index);
  return visible >= 0 && musart::last_completion(visible, false) > musart::now_ns() ? 100 : 0;
}

} // namespace
} // namespace mtml

using namespace mtml;

#pragma GCC visibility push(default)
extern "C" {

MtmlReturn mtmlDeviceInitGpu(const MtmlDevice* device, MtmlGpu** gpu) {
  return answer<MtmlDevice, MtmlGpu*>(device, gpu, [](int index) { return &g_devices[static_cast<size_t>(index)].gpu; });
}

MtmlReturn mtmlDeviceFreeGpu(MtmlGpu* gpu) {
  return index_of(gpu) < 0 ? MTML_ERROR_INVALID_ARGUMENT : MTML_SUCCESS;
}

MtmlReturn mtmlGpuGetUtilization(const MtmlGpu* gpu, unsigned int* percent) {
  return answer<MtmlGpu, unsigned int>(gpu, percent, busy_percent);
}

MtmlReturn mtmlGpuGetClock(const MtmlGpu* gpu, unsigned int* megahertz) {
  return answer<MtmlGpu, unsigned int>(gpu, megahertz, [](int) { return kClockMHz; });
}

MtmlReturn mtmlGpuGetMaxClock(const MtmlGpu* gpu, unsigned int* megahertz) {
  return mtmlGpuGetClock(gpu, megahertz);
}

MtmlReturn mtmlDeviceInitMemory(const MtmlDevice* device, MtmlMemory** memory) {
  return answer<MtmlDevice, MtmlMemory*>(
      device, memory, [](int index) { return &g_devices[static_cast<size_t>(index)].memory; });
}

MtmlReturn mtmlDeviceFreeMemory(MtmlMemory* memory) {
  return index_of(memory) < 0 ? MTML_ERROR_INVALID_ARGUMENT : MTML_SUCCESS;
}

MtmlReturn mtmlMemoryGetTotal(const MtmlMemory* memory, unsigned long long* bytes) {
  return answer<MtmlMemory, unsigned long long>(memory, bytes, total_memory);
}

MtmlReturn mtmlMemoryGetUsed(const MtmlMemory* memory, unsigned long long* bytes) {
  return answer<MtmlMemory, unsigned long long>(memory, bytes, used_memory);
}

MtmlReturn mtmlMemoryGetUtilization(const MtmlMemory* memory, unsigned int* percent) {
  return answer<MtmlMemory, unsigned int>(memory, percent, used_percent);
}

MtmlReturn mtmlMemoryGetClock(const MtmlMemory* memory, unsigned int* megahertz) {
  return answer<MtmlMemory, unsigned int>(memory, megahertz, [](int) { return kMemoryClockMHz; });
}

MtmlReturn mtmlMemoryGetMaxClock(const MtmlMemory* memory, unsigned int* megahertz) {
  return mtmlMemoryGetClock(memory, megahertz);
}

MtmlReturn mtmlMemoryGetBusWidth(const MtmlMemory* memory, unsigned int* bits) {
  return answer<MtmlMemory, unsigned int>(memory, bits, [](int) { return kMemoryBusBits; });
}

} // extern "C"
#pragma GCC visibility pop
