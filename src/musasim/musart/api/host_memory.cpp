#include "../driver/host_memory.h"
#include "gate.h"

using namespace musart;

musaError_t musaMallocHost(void** pointer, size_t size) {
  if (pointer == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  *pointer = size == 0 ? nullptr : allocate_pinned(size);
  return remember(size == 0 || *pointer != nullptr ? musaSuccess : musaErrorMemoryAllocation);
}

musaError_t musaHostAlloc(void** pointer, size_t size, unsigned int flags) {
  constexpr unsigned int kKnown = 0x7; // portable, mapped, write-combined: all alike here
  return (flags & ~kKnown) != 0 ? remember(musaErrorInvalidValue) : musaMallocHost(pointer, size);
}

musaError_t musaFreeHost(void* pointer) {
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  return remember(pointer == nullptr || release_pinned(pointer) ? musaSuccess : musaErrorInvalidValue);
}

musaError_t musaHostRegister(void* pointer, size_t size, unsigned int flags) {
  constexpr unsigned int kKnown = 0xf; // portable, mapped, of a device, read-only
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  if (pointer == nullptr || size == 0 || (flags & ~kKnown) != 0) {
    return remember(musaErrorInvalidValue);
  }
  return remember(register_host_range(pointer, size) ? musaSuccess : musaErrorHostMemoryAlreadyRegistered);
}

musaError_t musaHostUnregister(void* pointer) {
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  if (pointer == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  return remember(unregister_host_range(pointer) ? musaSuccess : musaErrorHostMemoryNotRegistered);
}

musaError_t musaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
  if (const auto error = enter()) {
    return remember(error);
  }
  if (device == nullptr || flags != 0 || !is_pinned(host)) {
    return remember(musaErrorInvalidValue);
  }
  *device = host;
  return musaSuccess;
}
