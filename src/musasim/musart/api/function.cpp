// What kernels' functions have: attributes, and how many of their blocks fit on a multiprocessor.
#include "../driver/device.h"
#include "../engine/launch.h"
#include "gate.h"
#include "launch.h"

#include <algorithm>

using namespace musart;

musaError_t musaFuncSetAttribute(const void* function, musaFuncAttribute attribute, int value) {
  if (const auto error = enter()) {
    return remember(error);
  }
  auto* kernel = kernel_of(function);
  if (kernel == nullptr) {
    return remember(musaErrorInvalidDeviceFunction);
  }
  if (attribute == musaFuncAttributePreferredSharedMemoryCarveout) {
    if (value < musaSharedmemCarveoutDefault || value > musaSharedmemCarveoutMaxShared) {
      return remember(musaErrorInvalidValue);
    }
    kernel->carveout = value;
    return musaSuccess;
  }
  const bool possible = attribute == musaFuncAttributeMaxDynamicSharedMemorySize && value >= 0 &&
      static_cast<size_t>(value) + kernel->static_shared <= kMostDynamicShared;
  if (!possible) {
    return remember(musaErrorInvalidValue);
  }
  kernel->dynamic_limit = static_cast<unsigned>(value);
  return musaSuccess;
}

musaError_t musaFuncSetCacheConfig(const void* function, musaFuncCache) {
  return remember(kernel_of(function) == nullptr ? musaErrorInvalidDeviceFunction : enter());
}

musaError_t musaFuncSetSharedMemConfig(const void* function, musaSharedMemConfig) {
  return remember(kernel_of(function) == nullptr ? musaErrorInvalidDeviceFunction : enter());
}

musaError_t musaFuncGetAttributes(musaFuncAttributes* attributes, const void* function) {
  if (const auto error = enter()) {
    return remember(error);
  }
  const auto* kernel = kernel_of(function);
  if (attributes == nullptr || kernel == nullptr) {
    return remember(attributes == nullptr ? musaErrorInvalidValue : musaErrorInvalidDeviceFunction);
  }
  const auto& properties = device_properties();
  *attributes = {};
  attributes->sharedSizeBytes = kernel->static_shared;
  attributes->maxThreadsPerBlock = kernel->max_threads == 0 ? kMaxThreads : static_cast<int>(kernel->max_threads);
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = properties.major * 10 + properties.minor;
  const size_t usual = kUsualShared - std::min<size_t>(kUsualShared, kernel->static_shared);
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(std::max<size_t>(usual, kernel->dynamic_limit));
  attributes->preferredShmemCarveout = kernel->carveout;
  return musaSuccess;
}

musaError_t musaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads, size_t shared) {
  return musaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

musaError_t musaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int threads, size_t shared, unsigned flags) {
  if (const auto error = enter()) {
    return remember(error);
  }
  const auto* kernel = kernel_of(function);
  if (kernel == nullptr) {
    return remember(musaErrorInvalidDeviceFunction);
  }
  if (blocks == nullptr || threads <= 0 || flags > 1) {
    return remember(musaErrorInvalidValue);
  }
  *blocks = blocks_that_fit(*kernel, threads, shared);
  return musaSuccess;
}

musaError_t musasim_occupancy_block_size(
    int* grid, int* block, const void* function, size_t (*shared_of)(int, const void*), const void* context, int limit) {
  if (const auto error = enter()) {
    return remember(error);
  }
  const auto* kernel = kernel_of(function);
  if (kernel == nullptr || grid == nullptr || block == nullptr) {
    return remember(kernel == nullptr ? musaErrorInvalidDeviceFunction : musaErrorInvalidValue);
  }
  const int most = kernel->max_threads == 0 ? static_cast<int>(kMaxThreads) : static_cast<int>(kernel->max_threads);
  const int largest = limit > 0 ? std::min(limit, most) : most;
  int best = 0;
  for (int size = largest; size > 0; size = (size - 1) / MUSASIM_WARP_SIZE * MUSASIM_WARP_SIZE) {
    const int active = blocks_that_fit(*kernel, size, shared_of(size, context));
    if (active * size > best) {
      best = active * size;
      *block = size;
      *grid = active * device_properties().multi_processor_count;
    }
  }
  return remember(best == 0 ? musaErrorInvalidValue : musaSuccess);
}
