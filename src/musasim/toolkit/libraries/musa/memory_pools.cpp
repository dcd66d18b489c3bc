// The driver's memory in the order of streams, and its pools: the runtime's, whose handles and numbers are the same.
#include "musa.h"

#include <cstring>

namespace {

MUresult as_result(musaError_t error) {
  return static_cast<MUresult>(error);
}

musaMemLocation as_location(const MUmemLocation& location) {
  return {static_cast<musaMemLocationType>(location.type), location.id};
}

// What `allocate` writes, as a number.
template <typename Allocate>
MUresult allocate_into(MUdeviceptr* pointer, size_t bytes, Allocate allocate) {
  void* made = nullptr;
  if (pointer == nullptr || bytes == 0) {
    return MUSA_ERROR_INVALID_VALUE;
  }
  const auto error = allocate(&made);
  if (error == musaSuccess) {
    *pointer = reinterpret_cast<MUdeviceptr>(made);
  }
  return as_result(error);
}

} // namespace

MUresult muMemAllocAsync(MUdeviceptr* pointer, size_t bytes, MUstream stream) {
  return allocate_into(pointer, bytes, [=](void** made) { return musaMallocAsync(made, bytes, stream); });
}

MUresult muMemAllocFromPoolAsync(MUdeviceptr* pointer, size_t bytes, MUmemoryPool pool, MUstream stream) {
  return allocate_into(pointer, bytes, [=](void** made) { return musaMallocFromPoolAsync(made, bytes, pool, stream); });
}

MUresult muMemFreeAsync(MUdeviceptr pointer, MUstream stream) {
  return as_result(musaFreeAsync(reinterpret_cast<void*>(pointer), stream));
}

MUresult muDeviceGetDefaultMemPool(MUmemoryPool* pool, MUdevice device) {
  return as_result(musaDeviceGetDefaultMemPool(pool, device));
}

MUresult muDeviceGetMemPool(MUmemoryPool* pool, MUdevice device) {
  return as_result(musaDeviceGetMemPool(pool, device));
}

MUresult muDeviceSetMemPool(MUdevice device, MUmemoryPool pool) {
  return as_result(musaDeviceSetMemPool(device, pool));
}

MUresult muMemPoolCreate(MUmemoryPool* pool, const MUmemPoolProps* properties) {
  musaMemPoolProps wanted;
  std::memset(&wanted, 0, sizeof wanted);
  if (properties != nullptr) {
    wanted.allocType = static_cast<musaMemAllocationType>(properties->allocType);
    wanted.handleTypes = static_cast<musaMemAllocationHandleType>(properties->handleTypes);
    wanted.location = as_location(properties->location);
  }
  return as_result(musaMemPoolCreate(pool, properties == nullptr ? nullptr : &wanted));
}

MUresult muMemPoolDestroy(MUmemoryPool pool) {
  return as_result(musaMemPoolDestroy(pool));
}

MUresult muMemPoolTrimTo(MUmemoryPool pool, size_t keep) {
  return as_result(musaMemPoolTrimTo(pool, keep));
}

MUresult muMemPoolSetAttribute(MUmemoryPool pool, MUmemPool_attribute attribute, void* value) {
  return as_result(musaMemPoolSetAttribute(pool, static_cast<musaMemPoolAttr>(attribute), value));
}

MUresult muMemPoolGetAttribute(MUmemoryPool pool, MUmemPool_attribute attribute, void* value) {
  return as_result(musaMemPoolGetAttribute(pool, static_cast<musaMemPoolAttr>(attribute), value));
}

static_assert(sizeof(MUmemAccessDesc) == sizeof(musaMemAccessDesc), "the runtime reads the same descriptions");

MUresult muMemPoolSetAccess(MUmemoryPool pool, const MUmemAccessDesc* descriptions, size_t count) {
  return as_result(musaMemPoolSetAccess(pool, reinterpret_cast<const musaMemAccessDesc*>(descriptions), count));
}

MUresult muMemPoolGetAccess(MUmemAccess_flags* flags, MUmemoryPool pool, MUmemLocation* location) {
  musaMemAccessFlags found = musaMemAccessFlagsProtNone;
  musaMemLocation asked = location == nullptr ? musaMemLocation{} : as_location(*location);
  const auto error = musaMemPoolGetAccess(flags == nullptr ? nullptr : &found, pool, location == nullptr ? nullptr : &asked);
  if (error == musaSuccess) {
    *flags = static_cast<MUmemAccess_flags>(found);
  }
  return as_result(error);
}
