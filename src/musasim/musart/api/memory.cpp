#include "../driver/device.h"
#include "../driver/host_memory.h"
#include "../driver/memory.h"
#include "../driver/memory_pool.h"
#include "../driver/protected_memory.h"
#include "../driver/streamcheck.h"
#include "../driver/symbol.h"
#include "../engine/leaks.h"
#include "gate.h"
#include "stream.h"

#include <tuple>

using namespace musart;

namespace {

musaError_t allocate_for(const void* caller, void** pointer, size_t size) {
  if (pointer == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  *pointer = size == 0 ? nullptr : allocate(current_device(), size, Owner::Program);
  remember_owner(*pointer, caller);
  return remember(size == 0 || *pointer != nullptr ? musaSuccess : musaErrorMemoryAllocation);
}

} // namespace

musaError_t musaMalloc(void** pointer, size_t size) {
  return allocate_for(__builtin_return_address(0), pointer, size);
}

musaError_t musaMallocManaged(void** pointer, size_t size, unsigned int flags) {
  if (flags != musaMemAttachGlobal && flags != musaMemAttachHost) {
    return remember(musaErrorInvalidValue);
  }
  if (pointer == nullptr || size == 0) {
    return remember(musaErrorInvalidValue);
  }
  const auto error = allocate_for(__builtin_return_address(0), pointer, size);
  if (error == musaSuccess) {
    mark_managed(*pointer);
  }
  return error;
}

// Pages have only one place here.
musaError_t musaMemPrefetchAsync(const void* pointer, size_t, int, musaStream_t stream) {
  if (const auto error = enter()) {
    return remember(error);
  }
  if (stream_of(stream) == nullptr) {
    return remember(musaErrorInvalidResourceHandle);
  }
  return remember(is_managed(pointer) ? musaSuccess : musaErrorInvalidValue);
}

musaError_t musaMemAdvise(const void* pointer, size_t, musaMemoryAdvise, int) {
  if (const auto error = enter()) {
    return remember(error);
  }
  return remember(is_managed(pointer) ? musaSuccess : musaErrorInvalidValue);
}

// Waits for the device first, as in CUDA, because queued work may still use the memory.
musaError_t musaFree(void* pointer) {
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  if (pointer == nullptr) {
    return musaSuccess;
  }
  if (give_back_to_pool(pointer)) { // the program has waited for what uses it: CUDA does not either
    return musaSuccess;
  }
  const auto found = find_allocation(pointer);
  if (!found || found->base != pointer || found->owner != Owner::Program) {
    return remember(musaErrorInvalidValue);
  }
  wait_for_device(found->device);
  streamcheck::host_waited_for_device(found->device);
  return remember(release(pointer, Owner::Program) ? musaSuccess : musaErrorInvalidValue);
}

musaError_t musaMemGetInfo(size_t* free, size_t* total) {
  if (free == nullptr || total == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  if (const auto error = enter()) {
    return remember(error);
  }
  std::tie(*free, *total) = memory_info(current_device());
  return musaSuccess;
}

musaError_t musasim_allocation(const void* pointer, void** base, size_t* size) {
  if (const auto error = enter()) {
    return remember(error);
  }
  const auto found = find_allocation(pointer);
  if (!found) {
    return musaErrorInvalidValue;
  }
  *base = found->base;
  *size = found->size;
  return musaSuccess;
}

void musasim_begin_device_work() {
  if (protects_memory) {
    DeviceWork::begin();
  }
}

void musasim_end_device_work() {
  if (protects_memory) {
    DeviceWork::end();
  }
}

musaError_t musaPointerGetAttributes(musaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  if (const auto error = enter()) {
    return remember(error);
  }
  auto* address = const_cast<void*>(pointer);
  if (const auto found = find_allocation(pointer)) {
    const auto type = found->managed ? musaMemoryTypeManaged : musaMemoryTypeDevice;
    *attributes = {type, found->device, address, found->managed ? address : nullptr};
  } else if (room_in_symbol(pointer) != 0) {
    *attributes = {musaMemoryTypeDevice, current_device(), address, nullptr};
  } else if (is_pinned(pointer)) {
    *attributes = {musaMemoryTypeHost, current_device(), address, address};
  } else {
    *attributes = {musaMemoryTypeUnregistered, musaInvalidDeviceId, nullptr, address};
  }
  return musaSuccess;
}
