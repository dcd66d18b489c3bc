// Figures of a device, by the number of the attribute.
#include "../driver/device.h"
#include "gate.h"

#include <algorithm>
#include <iterator>

namespace musart {
namespace {

struct Figure {
  musaDeviceAttr attribute;
  int value;
};

// Figures without a counterpart in the properties are invented, and equal on every device. An attribute that is not here is 0.
int attribute_value(musaDeviceAttr attribute, int device) {
  const auto& own = device_properties();
  const Figure figures[] = {
      {musaDevAttrMaxThreadsPerBlock, 1024},
      {musaDevAttrMaxBlockDimX, 1024},
      {musaDevAttrMaxBlockDimY, 1024},
      {musaDevAttrMaxBlockDimZ, 64},
      {musaDevAttrMaxGridDimX, 0x7fffffff},
      {musaDevAttrMaxGridDimY, 65535},
      {musaDevAttrMaxGridDimZ, 65535},
      {musaDevAttrMaxSharedMemoryPerBlock, 48 << 10},
      {musaDevAttrMaxSharedMemoryPerBlockOptin, 192 << 10},
      {musaDevAttrMaxSharedMemoryPerMultiprocessor, 192 << 10},
      {musaDevAttrMaxRegistersPerBlock, 64 << 10},
      {musaDevAttrMaxRegistersPerMultiprocessor, 64 << 10},
      {musaDevAttrMaxThreadsPerMultiProcessor, 2048},
      {musaDevAttrMaxBlocksPerMultiprocessor, 32},
      {musaDevAttrMultiProcessorCount, own.multi_processor_count},
      {musaDevAttrWarpSize, 32},
      {musaDevAttrComputeCapabilityMajor, own.major},
      {musaDevAttrComputeCapabilityMinor, own.minor},
      {musaDevAttrTotalConstantMemory, 64 << 10},
      {musaDevAttrMaxPitch, 0x7fffffff},
      {musaDevAttrL2CacheSize, 32 << 20},
      {musaDevAttrGlobalMemoryBusWidth, 1024},
      {musaDevAttrClockRate, 1750000},
      {musaDevAttrMemoryClockRate, 2000000},
      {musaDevAttrPciBusId, physical_device(device) + 1},
      {musaDevAttrAsyncEngineCount, 2},
      {musaDevAttrGpuOverlap, 1},
      {musaDevAttrTextureAlignment, 512},
      {musaDevAttrTexturePitchAlignment, 32},
      {musaDevAttrIntegrated, own.is_integrated ? 1 : 0},
      {musaDevAttrIsMultiGpuBoard, own.is_multi_gpu_board ? 1 : 0},
      {musaDevAttrConcurrentKernels, 1},
      {musaDevAttrManagedMemory, 1},
      {musaDevAttrConcurrentManagedAccess, 1},
      {musaDevAttrCooperativeLaunch, 1},
      {musaDevAttrCanMapHostMemory, 1},
      {musaDevAttrUnifiedAddressing, 1},
      {musaDevAttrStreamPrioritiesSupported, 1},
      {musaDevAttrHostRegisterSupported, 1},
      {musaDevAttrMemoryPoolsSupported, 1},
  };
  const auto is_it = [&](const Figure& figure) { return figure.attribute == attribute; };
  const auto at = std::find_if(std::begin(figures), std::end(figures), is_it);
  return at == std::end(figures) ? 0 : at->value;
}

} // namespace
} // namespace musart

using namespace musart;

musaError_t musaDeviceGetAttribute(int* value, musaDeviceAttr attribute, int device) {
  const auto number = static_cast<int>(attribute);
  if (value == nullptr || number < 1 || number >= musaDevAttrMax) {
    return remember(musaErrorInvalidValue);
  }
  if (const auto error = enter()) {
    return remember(error);
  }
  if (!is_device(device)) {
    return remember(musaErrorInvalidDevice);
  }
  *value = attribute_value(attribute, device);
  return musaSuccess;
}
