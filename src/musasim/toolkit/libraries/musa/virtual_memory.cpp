// The driver's functions for virtual memory, by the runtime's (musart/api/virtual_memory.cpp). Flags have no meaning yet, as in CUDA.
#include "musa.h"

#include <cstdint>
#include <cstring>

namespace {

constexpr size_t kGranularity = size_t{2} << 20;

MUresult as_result(musaError_t error) {
  return static_cast<MUresult>(error);
}

void* address_of(MUdeviceptr pointer) {
  return reinterpret_cast<void*>(pointer);
}

bool is_pinned_on_a_device(const MUmemAllocationProp* properties) {
  return properties != nullptr && properties->type == MU_MEM_ALLOCATION_TYPE_PINNED &&
      properties->location.type == MU_MEM_LOCATION_TYPE_DEVICE;
}

} // namespace

MUresult muMemGetAllocationGranularity(
    size_t* granularity, const MUmemAllocationProp* properties, MUmemAllocationGranularity_flags /*option*/) {
  if (granularity == nullptr || !is_pinned_on_a_device(properties)) {
    return MUSA_ERROR_INVALID_VALUE;
  }
  *granularity = kGranularity;
  return MUSA_SUCCESS;
}

// The driver may choose another place than the wanted one, and does.
MUresult muMemAddressReserve(
    MUdeviceptr* pointer, size_t size, size_t alignment, MUdeviceptr /*wanted*/, unsigned long long flags) {
  void* base = nullptr;
  if (pointer == nullptr || flags != 0) {
    return MUSA_ERROR_INVALID_VALUE;
  }
  const auto error = musasim_reserve(&base, size, alignment);
  *pointer = reinterpret_cast<MUdeviceptr>(base);
  return as_result(error);
}

MUresult muMemAddressFree(MUdeviceptr pointer, size_t size) {
  return as_result(musasim_cancel_reservation(address_of(pointer), size));
}

MUresult muMemCreate(
    MUmemGenericAllocationHandle* handle, size_t size, const MUmemAllocationProp* properties, unsigned long long flags) {
  if (!is_pinned_on_a_device(properties) || flags != 0) {
    return MUSA_ERROR_INVALID_VALUE;
  }
  if (properties->requestedHandleTypes == MU_MEM_HANDLE_TYPE_FABRIC) {
    return MUSA_ERROR_NOT_SUPPORTED; // handles for other machines, which the attribute denies
  }
  const bool is_exportable = properties->requestedHandleTypes == MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return as_result(musasim_memory_create(handle, size, properties->location.id, is_exportable ? 1 : 0));
}

MUresult muMemRelease(MUmemGenericAllocationHandle handle) {
  return as_result(musasim_memory_release(handle));
}

MUresult muMemRetainAllocationHandle(MUmemGenericAllocationHandle* handle, void* address) {
  return as_result(musasim_memory_retain(handle, address));
}

MUresult muMemGetAllocationPropertiesFromHandle(MUmemAllocationProp* properties, MUmemGenericAllocationHandle handle) {
  int device = 0, is_exportable = 0;
  if (properties == nullptr) {
    return MUSA_ERROR_INVALID_VALUE;
  }
  if (const auto error = musasim_memory_describe(handle, &device, &is_exportable)) {
    return as_result(error);
  }
  std::memset(properties, 0, sizeof(*properties));
  properties->type = MU_MEM_ALLOCATION_TYPE_PINNED;
  properties->requestedHandleTypes = is_exportable != 0 ? MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : MU_MEM_HANDLE_TYPE_NONE;
  properties->location = {MU_MEM_LOCATION_TYPE_DEVICE, device};
  return MUSA_SUCCESS;
}

MUresult muMemMap(
    MUdeviceptr pointer, size_t size, size_t offset, MUmemGenericAllocationHandle handle, unsigned long long flags) {
  // CUDA takes no other offset either.
  return offset != 0 || flags != 0 ? MUSA_ERROR_INVALID_VALUE : as_result(musasim_memory_map(address_of(pointer), size, handle));
}

MUresult muMemUnmap(MUdeviceptr pointer, size_t size) {
  return as_result(musasim_memory_unmap(address_of(pointer), size));
}

MUresult muMemSetAccess(MUdeviceptr pointer, size_t size, const MUmemAccessDesc* access, size_t count) {
  if (access == nullptr || count == 0) {
    return MUSA_ERROR_INVALID_VALUE;
  }
  for (const auto* each = access; each != access + count; ++each) {
    if (each->location.type != MU_MEM_LOCATION_TYPE_DEVICE) {
      return MUSA_ERROR_INVALID_VALUE;
    }
    if (const auto error = musasim_memory_permit(address_of(pointer), size, each->location.id, each->flags)) {
      return as_result(error);
    }
  }
  return MUSA_SUCCESS;
}

MUresult muMemGetAccess(unsigned long long* flags, const MUmemLocation* location, MUdeviceptr pointer) {
  int access = 0;
  if (flags == nullptr || location == nullptr || location->type != MU_MEM_LOCATION_TYPE_DEVICE) {
    return MUSA_ERROR_INVALID_VALUE;
  }
  const auto error = musasim_memory_access(address_of(pointer), location->id, &access);
  *flags = static_cast<unsigned long long>(access);
  return as_result(error);
}

// `shareable` points to a file descriptor here, and is one below.
MUresult muMemExportToShareableHandle(
    void* shareable, MUmemGenericAllocationHandle handle, MUmemAllocationHandleType type, unsigned long long flags) {
  if (type != MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags != 0) {
    return MUSA_ERROR_INVALID_VALUE;
  }
  return as_result(musasim_memory_export(handle, static_cast<int*>(shareable)));
}

MUresult muMemImportFromShareableHandle(
    MUmemGenericAllocationHandle* handle, void* shareable, MUmemAllocationHandleType type) {
  if (type != MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return MUSA_ERROR_INVALID_VALUE;
  }
  return as_result(musasim_memory_import(handle, static_cast<int>(reinterpret_cast<std::intptr_t>(shareable))));
}
