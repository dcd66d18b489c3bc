// Memory in the order of streams, and the pools that it comes from. Kernels run when they are queued, so what is freed in a stream's order
// is needed by no earlier work of that stream.
#include "../driver/device.h"
#include "../driver/memory.h"
#include "../driver/memory_pool.h"
#include "../driver/streamcheck.h"
#include "../engine/leaks.h"
#include "gate.h"
#include "stream.h"

using namespace musart;

namespace {

constexpr int kAllAccess = musaMemAccessFlagsProtReadWrite;

bool is_reuse(musaMemPoolAttr attribute) {
  return attribute >= musaMemPoolReuseFollowEventDependencies && attribute <= musaMemPoolReuseAllowInternalDependencies;
}

musaMemPool_t handle_of(MemoryPool& pool) {
  return reinterpret_cast<musaMemPool_t>(&pool);
}

// The pool is the stream's device's own where `handle` is nullptr.
musaError_t allocate_in_order(const void* caller, void** pointer, size_t size, const musaMemPool_t* handle, musaStream_t stream) {
  Stream* found = nullptr;
  if (pointer == nullptr) {
    return musaErrorInvalidValue;
  }
  if (const auto error = enter_stream(stream, &found)) {
    return error;
  }
  auto* pool = handle == nullptr ? &current_pool(found->device) : find_pool(*handle);
  if (pool == nullptr) {
    return musaErrorInvalidValue;
  }
  *pointer = size == 0 ? nullptr : allocate_from(*pool, size);
  if (*pointer == nullptr) {
    return size == 0 ? musaSuccess : musaErrorMemoryAllocation;
  }
  remember_owner(*pointer, caller);
  streamcheck::did(*found, "musaMallocAsync", {{*pointer, size, streamcheck::Kind::Write}});
  return musaSuccess;
}

musaError_t enter_pool(musaMemPool_t handle, MemoryPool** pool) {
  if (const auto error = enter()) {
    return error;
  }
  *pool = find_pool(handle);
  return *pool == nullptr ? musaErrorInvalidValue : musaSuccess;
}

musaError_t enter_device(int device, const void* place) {
  if (const auto error = enter()) {
    return error;
  }
  if (place == nullptr) {
    return musaErrorInvalidValue;
  }
  return is_device(device) ? musaSuccess : musaErrorInvalidDevice;
}

} // namespace

musaError_t musaMallocAsync(void** pointer, size_t size, musaStream_t stream) {
  return remember(allocate_in_order(__builtin_return_address(0), pointer, size, nullptr, stream));
}

musaError_t musaMallocFromPoolAsync(void** pointer, size_t size, musaMemPool_t pool, musaStream_t stream) {
  return remember(allocate_in_order(__builtin_return_address(0), pointer, size, &pool, stream));
}

musaError_t musaFreeAsync(void* pointer, musaStream_t stream) {
  Stream* found = nullptr;
  if (const auto error = enter_stream(stream, &found)) {
    return remember(error);
  }
  if (const auto memory = find_allocation(pointer); memory && memory->base == pointer) {
    streamcheck::did(*found, "musaFreeAsync", {{pointer, memory->size, streamcheck::Kind::Write}});
  }
  const bool freed = pointer == nullptr || give_back_to_pool(pointer) || release(pointer, Owner::Program);
  return remember(freed ? musaSuccess : musaErrorInvalidValue);
}

musaError_t musaDeviceGetDefaultMemPool(musaMemPool_t* pool, int device) {
  const auto error = enter_device(device, pool);
  if (error == musaSuccess) {
    *pool = handle_of(default_pool(device));
  }
  return remember(error);
}

musaError_t musaDeviceGetMemPool(musaMemPool_t* pool, int device) {
  const auto error = enter_device(device, pool);
  if (error == musaSuccess) {
    *pool = handle_of(current_pool(device));
  }
  return remember(error);
}

musaError_t musaDeviceSetMemPool(int device, musaMemPool_t handle) {
  MemoryPool* pool = nullptr;
  if (const auto error = enter_pool(handle, &pool)) {
    return remember(error);
  }
  if (pool->device != device) {
    return remember(is_device(device) ? musaErrorInvalidValue : musaErrorInvalidDevice);
  }
  use_pool(*pool);
  return musaSuccess;
}

// Pools that other processes can open are not simulated.
musaError_t musaMemPoolCreate(musaMemPool_t* pool, const musaMemPoolProps* properties) {
  if (const auto error = enter()) {
    return remember(error);
  }
  const bool is_plain = pool != nullptr && properties != nullptr && properties->allocType == musaMemAllocationTypePinned &&
      properties->location.type == musaMemLocationTypeDevice && is_device(properties->location.id);
  if (!is_plain) {
    return remember(musaErrorInvalidValue);
  }
  if (properties->handleTypes != musaMemHandleTypeNone) {
    return remember(musaErrorNotSupported);
  }
  *pool = handle_of(*create_pool(properties->location.id));
  return musaSuccess;
}

musaError_t musaMemPoolDestroy(musaMemPool_t handle) {
  MemoryPool* pool = nullptr;
  if (const auto error = enter_pool(handle, &pool)) {
    return remember(error);
  }
  return remember(destroy_pool(*pool) ? musaSuccess : musaErrorInvalidValue);
}

musaError_t musaMemPoolTrimTo(musaMemPool_t handle, size_t keep) {
  MemoryPool* pool = nullptr;
  if (const auto error = enter_pool(handle, &pool)) {
    return remember(error);
  }
  trim(*pool, keep);
  return musaSuccess;
}

musaError_t musaMemPoolSetAttribute(musaMemPool_t handle, musaMemPoolAttr attribute, void* value) {
  MemoryPool* pool = nullptr;
  if (const auto error = enter_pool(handle, &pool)) {
    return remember(error);
  }
  if (value == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  if (is_reuse(attribute)) {
    pool->reuse[attribute] = *static_cast<int*>(value) != 0;
    return musaSuccess;
  }
  const uint64_t number = *static_cast<uint64_t*>(value);
  if (attribute == musaMemPoolAttrReleaseThreshold) {
    pool->threshold = number;
    return musaSuccess;
  }
  const bool is_high = attribute == musaMemPoolAttrReservedMemHigh || attribute == musaMemPoolAttrUsedMemHigh;
  if (!is_high || number != 0) { // the highest values can be reset, and the others only be read
    return remember(musaErrorInvalidValue);
  }
  auto& amount = attribute == musaMemPoolAttrReservedMemHigh ? pool->reserved : pool->used;
  amount.most = amount.now;
  return musaSuccess;
}

musaError_t musaMemPoolGetAttribute(musaMemPool_t handle, musaMemPoolAttr attribute, void* value) {
  MemoryPool* pool = nullptr;
  if (const auto error = enter_pool(handle, &pool)) {
    return remember(error);
  }
  if (value == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  auto* number = static_cast<uint64_t*>(value);
  switch (attribute) {
    case musaMemPoolReuseFollowEventDependencies:
    case musaMemPoolReuseAllowOpportunistic:
    case musaMemPoolReuseAllowInternalDependencies:
      *static_cast<int*>(value) = pool->reuse.count(attribute) == 0 || pool->reuse[attribute];
      return musaSuccess;
    case musaMemPoolAttrReleaseThreshold: *number = pool->threshold; return musaSuccess;
    case musaMemPoolAttrReservedMemCurrent: *number = pool->reserved.now; return musaSuccess;
    case musaMemPoolAttrReservedMemHigh: *number = pool->reserved.most; return musaSuccess;
    case musaMemPoolAttrUsedMemCurrent: *number = pool->used.now; return musaSuccess;
    case musaMemPoolAttrUsedMemHigh: *number = pool->used.most; return musaSuccess;
  }
  return remember(musaErrorInvalidValue);
}

// The device itself has all access, and cannot be refused it.
musaError_t musaMemPoolSetAccess(musaMemPool_t handle, const musaMemAccessDesc* descriptions, size_t count) {
  MemoryPool* pool = nullptr;
  if (const auto error = enter_pool(handle, &pool)) {
    return remember(error);
  }
  if (descriptions == nullptr && count != 0) {
    return remember(musaErrorInvalidValue);
  }
  for (size_t at = 0; at < count; ++at) {
    const auto& [location, flags] = descriptions[at];
    const bool is_own = location.id == pool->device;
    if (location.type != musaMemLocationTypeDevice || !is_device(location.id) || (is_own && flags != kAllAccess)) {
      return remember(musaErrorInvalidValue);
    }
  }
  for (size_t at = 0; at < count; ++at) {
    pool->access[descriptions[at].location.id] = descriptions[at].flags;
  }
  return musaSuccess;
}

musaError_t musaMemPoolGetAccess(musaMemAccessFlags* flags, musaMemPool_t handle, musaMemLocation* location) {
  MemoryPool* pool = nullptr;
  if (const auto error = enter_pool(handle, &pool)) {
    return remember(error);
  }
  if (flags == nullptr || location == nullptr || location->type != musaMemLocationTypeDevice || !is_device(location->id)) {
    return remember(musaErrorInvalidValue);
  }
  const int access = location->id == pool->device ? kAllAccess : pool->access[location->id];
  *flags = static_cast<musaMemAccessFlags>(access);
  return musaSuccess;
}
