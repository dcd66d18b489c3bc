// A device's properties as one struct: its attributes, by name.
#include "../driver/device.h"
#include "gate.h"

#include <cstdio>

namespace {

void fill(musaDeviceProp& p, int device) {
  const auto attribute = [device](int number) {
    int value = 0;
    musaDeviceGetAttribute(&value, static_cast<musaDeviceAttr>(number), device);
    return value;
  };
  const auto& known = musart::device_properties();
  std::snprintf(p.name, sizeof(p.name), "%s", known.name.c_str());
  p.totalGlobalMem = known.total_memory;
  p.sharedMemPerBlock = static_cast<size_t>(attribute(musaDevAttrMaxSharedMemoryPerBlock));
  p.regsPerBlock = attribute(musaDevAttrMaxRegistersPerBlock);
  p.warpSize = attribute(musaDevAttrWarpSize);
  p.memPitch = static_cast<size_t>(attribute(musaDevAttrMaxPitch));
  p.maxThreadsPerBlock = attribute(musaDevAttrMaxThreadsPerBlock);
  for (int i = 0; i < 3; ++i) {
    p.maxThreadsDim[i] = attribute(musaDevAttrMaxBlockDimX + i);
    p.maxGridSize[i] = attribute(musaDevAttrMaxGridDimX + i);
  }
  p.clockRate = attribute(musaDevAttrClockRate);
  p.totalConstMem = static_cast<size_t>(attribute(musaDevAttrTotalConstantMemory));
  p.major = attribute(musaDevAttrComputeCapabilityMajor);
  p.minor = attribute(musaDevAttrComputeCapabilityMinor);
  p.multiProcessorCount = attribute(musaDevAttrMultiProcessorCount);
  p.integrated = attribute(musaDevAttrIntegrated);
  p.canMapHostMemory = attribute(musaDevAttrCanMapHostMemory);
  p.pciBusID = attribute(musaDevAttrPciBusId);
  p.unifiedAddressing = attribute(musaDevAttrUnifiedAddressing);
  p.memoryClockRate = attribute(musaDevAttrMemoryClockRate);
  p.memoryBusWidth = attribute(musaDevAttrGlobalMemoryBusWidth);
  p.l2CacheSize = attribute(musaDevAttrL2CacheSize);
  p.maxThreadsPerMultiProcessor = attribute(musaDevAttrMaxThreadsPerMultiProcessor);
  p.streamPrioritiesSupported = attribute(musaDevAttrStreamPrioritiesSupported);
  p.sharedMemPerMultiprocessor = static_cast<size_t>(attribute(musaDevAttrMaxSharedMemoryPerMultiprocessor));
  p.regsPerMultiprocessor = attribute(musaDevAttrMaxRegistersPerMultiprocessor);
  p.isMultiGpuBoard = attribute(musaDevAttrIsMultiGpuBoard);
  p.asyncEngineCount = attribute(musaDevAttrAsyncEngineCount);
  p.deviceOverlap = attribute(musaDevAttrGpuOverlap);
  p.textureAlignment = static_cast<size_t>(attribute(musaDevAttrTextureAlignment));
  p.texturePitchAlignment = static_cast<size_t>(attribute(musaDevAttrTexturePitchAlignment));
  p.concurrentKernels = attribute(musaDevAttrConcurrentKernels);
  p.managedMemory = attribute(musaDevAttrManagedMemory);
  p.cooperativeLaunch = attribute(musaDevAttrCooperativeLaunch);
  p.maxBlocksPerMultiProcessor = attribute(musaDevAttrMaxBlocksPerMultiprocessor);
  p.sharedMemPerBlockOptin = static_cast<size_t>(attribute(musaDevAttrMaxSharedMemoryPerBlockOptin));
}

} // namespace

musaError_t musaGetDeviceProperties(musaDeviceProp* properties, int device) {
  if (properties == nullptr) {
    return musart::remember(musaErrorInvalidValue);
  }
  if (const auto error = musart::enter()) {
    return musart::remember(error);
  }
  if (!musart::is_device(device)) {
    return musart::remember(musaErrorInvalidDevice);
  }
  *properties = musaDeviceProp{};
  fill(*properties, device);
  return musaSuccess;
}
