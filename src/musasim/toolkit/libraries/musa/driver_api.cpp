// libmusa.so: the driver's functions, implemented by the runtime's. Each device has one context.
#include "musa.h"

#include <cstdint>
#include <cstdio>

namespace {

MUresult as_result(musaError_t error) {
  return static_cast<MUresult>(error);
}

void* address_of(MUdeviceptr pointer) {
  return reinterpret_cast<void*>(pointer);
}

// Never zero, because zero means no context.
MUcontext context_of(int device) {
  return reinterpret_cast<MUcontext>(static_cast<std::uintptr_t>(device + 1));
}

bool exists(int device) {
  int count = 0;
  return musaGetDeviceCount(&count) == musaSuccess && device >= 0 && device < count;
}

} // namespace

MUresult muInit(unsigned int flags) {
  int count = 0;
  return flags != 0 ? MUSA_ERROR_INVALID_VALUE : as_result(musaGetDeviceCount(&count));
}

MUresult muDriverGetVersion(int* version) {
  return as_result(musaDriverGetVersion(version));
}

MUresult muGetErrorName(MUresult error, const char** name) {
  *name = musaGetErrorName(static_cast<musaError_t>(error));
  return MUSA_SUCCESS;
}

MUresult muGetErrorString(MUresult error, const char** text) {
  *text = musaGetErrorString(static_cast<musaError_t>(error));
  return MUSA_SUCCESS;
}

MUresult muDeviceGetCount(int* count) {
  return as_result(musaGetDeviceCount(count));
}

MUresult muDeviceGet(MUdevice* device, int index) {
  if (device == nullptr || !exists(index)) {
    return device == nullptr ? MUSA_ERROR_INVALID_VALUE : MUSA_ERROR_INVALID_DEVICE;
  }
  *device = index;
  return MUSA_SUCCESS;
}

MUresult muDeviceGetName(char* name, int length, MUdevice device) {
  musaDeviceProp properties;
  if (const auto error = musaGetDeviceProperties(&properties, device)) {
    return as_result(error);
  }
  std::snprintf(name, static_cast<size_t>(length), "%s", properties.name);
  return MUSA_SUCCESS;
}

MUresult muDeviceGetAttribute(int* value, MUdevice_attribute attribute, MUdevice device) {
  const bool is_of_virtual_memory = attribute == MU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED ||
      attribute == MU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
  const bool is_of_fabric = attribute == MU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED;
  if ((is_of_virtual_memory || is_of_fabric) && value != nullptr && exists(device)) {
    *value = is_of_virtual_memory ? 1 : 0; // the driver's alone, with no name in the runtime
    return MUSA_SUCCESS;
  }
  return as_result(musaDeviceGetAttribute(value, static_cast<musaDeviceAttr>(attribute), device));
}

MUresult muDeviceTotalMem(size_t* bytes, MUdevice device) {
  musaDeviceProp properties;
  const auto error = musaGetDeviceProperties(&properties, device);
  *bytes = error == musaSuccess ? properties.totalGlobalMem : 0;
  return as_result(error);
}

MUresult muDevicePrimaryCtxRetain(MUcontext* context, MUdevice device) {
  if (!exists(device)) {
    return MUSA_ERROR_INVALID_DEVICE;
  }
  *context = context_of(device);
  return MUSA_SUCCESS;
}

MUresult muDevicePrimaryCtxRelease(MUdevice device) {
  return exists(device) ? MUSA_SUCCESS : MUSA_ERROR_INVALID_DEVICE;
}

MUresult muCtxGetCurrent(MUcontext* context) {
  int device = 0;
  const auto error = musaGetDevice(&device);
  *context = error == musaSuccess ? context_of(device) : nullptr;
  return as_result(error);
}

MUresult muCtxSetCurrent(MUcontext context) {
  const auto number = reinterpret_cast<std::uintptr_t>(context);
  return number == 0 ? MUSA_SUCCESS : as_result(musaSetDevice(static_cast<int>(number) - 1));
}

MUresult muCtxGetDevice(MUdevice* device) {
  return as_result(musaGetDevice(device));
}

MUresult muCtxSynchronize(void) {
  return as_result(musaDeviceSynchronize());
}

MUresult muMemGetInfo(size_t* free, size_t* total) {
  return as_result(musaMemGetInfo(free, total));
}

MUresult muMemAlloc(MUdeviceptr* pointer, size_t bytes) {
  void* made = nullptr;
  if (pointer == nullptr || bytes == 0) {
    return MUSA_ERROR_INVALID_VALUE;
  }
  const auto error = musaMalloc(&made, bytes);
  *pointer = reinterpret_cast<MUdeviceptr>(made);
  return as_result(error);
}

MUresult muMemFree(MUdeviceptr pointer) {
  return as_result(musaFree(address_of(pointer)));
}

MUresult muMemGetAddressRange(MUdeviceptr* base, size_t* size, MUdeviceptr pointer) {
  void* begin = nullptr;
  size_t bytes = 0;
  if (const auto error = musasim_allocation(address_of(pointer), &begin, &bytes)) {
    return as_result(error);
  }
  if (base != nullptr) {
    *base = reinterpret_cast<MUdeviceptr>(begin);
  }
  if (size != nullptr) {
    *size = bytes;
  }
  return MUSA_SUCCESS;
}

MUresult muPointerGetAttribute(void* value, MUpointer_attribute attribute, MUdeviceptr pointer) {
  musaPointerAttributes found;
  if (value == nullptr) {
    return MUSA_ERROR_INVALID_VALUE;
  }
  if (const auto error = musaPointerGetAttributes(&found, address_of(pointer))) {
    return as_result(error);
  }
  if (found.type == musaMemoryTypeUnregistered) { // of the program, and unknown to the driver
    return MUSA_ERROR_INVALID_VALUE;
  }
  switch (attribute) {
    case MU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned int*>(value) = found.type == musaMemoryTypeHost ? MU_MEMORYTYPE_HOST : MU_MEMORYTYPE_DEVICE;
      return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<MUdeviceptr*>(value) = reinterpret_cast<MUdeviceptr>(found.devicePointer);
      return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_HOST_POINTER:
      *static_cast<void**>(value) = found.hostPointer;
      return found.hostPointer != nullptr ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
    case MU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<bool*>(value) = found.type == musaMemoryTypeManaged;
      return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = found.device;
      return MUSA_SUCCESS;
    case MU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return muMemGetAddressRange(static_cast<MUdeviceptr*>(value), nullptr, pointer);
    case MU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return muMemGetAddressRange(nullptr, static_cast<size_t*>(value), pointer);
  }
  return MUSA_ERROR_NOT_SUPPORTED;
}

MUresult muMemcpyHtoD(MUdeviceptr to, const void* from, size_t bytes) {
  return as_result(musaMemcpy(address_of(to), from, bytes, musaMemcpyHostToDevice));
}

MUresult muMemcpyDtoH(void* to, MUdeviceptr from, size_t bytes) {
  return as_result(musaMemcpy(to, address_of(from), bytes, musaMemcpyDeviceToHost));
}

MUresult muMemcpyDtoD(MUdeviceptr to, MUdeviceptr from, size_t bytes) {
  return as_result(musaMemcpy(address_of(to), address_of(from), bytes, musaMemcpyDeviceToDevice));
}

MUresult muMemsetD8(MUdeviceptr pointer, unsigned char value, size_t bytes) {
  return as_result(musaMemset(address_of(pointer), value, bytes));
}

MUresult muStreamSynchronize(MUstream stream) {
  return as_result(musaStreamSynchronize(stream));
}

MUresult muStreamQuery(MUstream stream) {
  return as_result(musaStreamQuery(stream));
}
