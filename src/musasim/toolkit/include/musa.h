/* The driver's API, as far as libmusa.so has it: devices, memory, its pools, virtual memory, and basic functions for streams and errors; no modules or launches. */
#pragma once

#include <stddef.h>

#include "musa_runtime_api.h"

#ifndef MUSA_VERSION
#define MUSA_VERSION 50100
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum MUresult {
  MUSA_SUCCESS = 0,
  MUSA_ERROR_INVALID_VALUE = 1,
  MUSA_ERROR_OUT_OF_MEMORY = 2,
  MUSA_ERROR_NOT_INITIALIZED = 3,
  MUSA_ERROR_DEINITIALIZED = 4,
  MUSA_ERROR_PROFILER_DISABLED = 5,
  MUSA_ERROR_PROFILER_NOT_INITIALIZED = 6,
  MUSA_ERROR_PROFILER_ALREADY_STARTED = 7,
  MUSA_ERROR_PROFILER_ALREADY_STOPPED = 8,
  MUSA_ERROR_STUB_LIBRARY = 34,
  MUSA_ERROR_NO_DEVICE = 100,
  MUSA_ERROR_INVALID_DEVICE = 101,
  MUSA_ERROR_DEVICE_NOT_LICENSED = 102,
  MUSA_ERROR_INVALID_IMAGE = 200,
  MUSA_ERROR_INVALID_CONTEXT = 201,
  MUSA_ERROR_CONTEXT_ALREADY_CURRENT = 202,
  MUSA_ERROR_MAP_FAILED = 205,
  MUSA_ERROR_UNMAP_FAILED = 206,
  MUSA_ERROR_ARRAY_IS_MAPPED = 207,
  MUSA_ERROR_ALREADY_MAPPED = 208,
  MUSA_ERROR_NO_BINARY_FOR_GPU = 209,
  MUSA_ERROR_ALREADY_ACQUIRED = 210,
  MUSA_ERROR_NOT_MAPPED = 211,
  MUSA_ERROR_NOT_MAPPED_AS_ARRAY = 212,
  MUSA_ERROR_NOT_MAPPED_AS_POINTER = 213,
  MUSA_ERROR_ECC_UNCORRECTABLE = 214,
  MUSA_ERROR_UNSUPPORTED_LIMIT = 215,
  MUSA_ERROR_CONTEXT_ALREADY_IN_USE = 216,
  MUSA_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
  MUSA_ERROR_INVALID_PTX = 218,
  MUSA_ERROR_INVALID_GRAPHICS_CONTEXT = 219,
  MUSA_ERROR_MTLINK_UNCORRECTABLE = 220,
  MUSA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
  MUSA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  MUSA_ERROR_JIT_COMPILATION_DISABLED = 223,
  MUSA_ERROR_UNSUPPORTED_EXEC_AFFINITY = 224,
  MUSA_ERROR_INVALID_SOURCE = 300,
  MUSA_ERROR_FILE_NOT_FOUND = 301,
  MUSA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND = 302,
  MUSA_ERROR_SHARED_OBJECT_INIT_FAILED = 303,
  MUSA_ERROR_OPERATING_SYSTEM = 304,
  MUSA_ERROR_INVALID_HANDLE = 400,
  MUSA_ERROR_ILLEGAL_STATE = 401,
  MUSA_ERROR_NOT_FOUND = 500,
  MUSA_ERROR_NOT_READY = 600,
  MUSA_ERROR_ILLEGAL_ADDRESS = 700,
  MUSA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  MUSA_ERROR_LAUNCH_TIMEOUT = 702,
  MUSA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING = 703,
  MUSA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
  MUSA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
  MUSA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
  MUSA_ERROR_CONTEXT_IS_DESTROYED = 709,
  MUSA_ERROR_ASSERT = 710,
  MUSA_ERROR_TOO_MANY_PEERS = 711,
  MUSA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
  MUSA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
  MUSA_ERROR_HARDWARE_STACK_ERROR = 714,
  MUSA_ERROR_ILLEGAL_INSTRUCTION = 715,
  MUSA_ERROR_MISALIGNED_ADDRESS = 716,
  MUSA_ERROR_INVALID_ADDRESS_SPACE = 717,
  MUSA_ERROR_INVALID_PC = 718,
  MUSA_ERROR_LAUNCH_FAILED = 719,
  MUSA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
  MUSA_ERROR_NOT_PERMITTED = 800,
  MUSA_ERROR_NOT_SUPPORTED = 801,
  MUSA_ERROR_SYSTEM_NOT_READY = 802,
  MUSA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
  MUSA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
  MUSA_ERROR_MPS_CONNECTION_FAILED = 805,
  MUSA_ERROR_MPS_RPC_FAILURE = 806,
  MUSA_ERROR_MPS_SERVER_NOT_READY = 807,
  MUSA_ERROR_MPS_MAX_CLIENTS_REACHED = 808,
  MUSA_ERROR_MPS_MAX_CONNECTIONS_REACHED = 809,
  MUSA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  MUSA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
  MUSA_ERROR_STREAM_CAPTURE_MERGE = 902,
  MUSA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
  MUSA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
  MUSA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
  MUSA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
  MUSA_ERROR_CAPTURED_EVENT = 907,
  MUSA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
  MUSA_ERROR_TIMEOUT = 909,
  MUSA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,
  MUSA_ERROR_EXTERNAL_DEVICE = 911,
  MUSA_ERROR_UNKNOWN = 999
} MUresult;

/* The same numbers as the runtime's attributes. */
typedef enum MUdevice_attribute {
  MU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  MU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  MU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  MU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  MU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  MU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  MU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  MU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  MU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  MU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
  MU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  MU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
  MU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED = 102,
  MU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
  MU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_MUSA_VMM_SUPPORTED = 110,
  MU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
  MU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED = 128
} MUdevice_attribute;

typedef enum MUpointer_attribute {
  MU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  MU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  MU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
  MU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
  MU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  MU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
  MU_POINTER_ATTRIBUTE_RANGE_SIZE = 12
} MUpointer_attribute;

typedef enum MUmemorytype { MU_MEMORYTYPE_HOST = 1, MU_MEMORYTYPE_DEVICE = 2 } MUmemorytype;

typedef int MUdevice;
typedef unsigned long long MUdeviceptr;
typedef struct MUctx_st* MUcontext;
typedef struct MUmod_st* MUmodule; /* PyTorch's headers for kernels have members of these two types */
typedef struct MUfunc_st* MUfunction;
typedef struct MUstream_st* MUstream;
typedef struct MUevent_st* MUevent;

/* virtual memory */
typedef unsigned long long MUmemGenericAllocationHandle;
typedef enum MUmemLocationType { MU_MEM_LOCATION_TYPE_INVALID = 0, MU_MEM_LOCATION_TYPE_DEVICE = 1 } MUmemLocationType;
typedef enum MUmemAllocationType { MU_MEM_ALLOCATION_TYPE_INVALID = 0, MU_MEM_ALLOCATION_TYPE_PINNED = 1 } MUmemAllocationType;
typedef enum MUmemAllocationHandleType {
  MU_MEM_HANDLE_TYPE_NONE = 0,
  MU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
  MU_MEM_HANDLE_TYPE_FABRIC = 8
} MUmemAllocationHandleType;
typedef enum MUmemAllocationCompType { MU_MEM_ALLOCATION_COMP_NONE = 0, MU_MEM_ALLOCATION_COMP_GENERIC = 1 } MUmemAllocationCompType;
typedef enum MUmemAllocationGranularity_flags {
  MU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
  MU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1
} MUmemAllocationGranularity_flags;
typedef enum MUmemAccess_flags {
  MU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
  MU_MEM_ACCESS_FLAGS_PROT_READ = 1,
  MU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3
} MUmemAccess_flags;
typedef struct MUmemLocation {
  MUmemLocationType type;
  int id;
} MUmemLocation;
typedef struct MUmemAllocationProp {
  MUmemAllocationType type;
  MUmemAllocationHandleType requestedHandleTypes;
  MUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
} MUmemAllocationProp;
typedef struct MUmemAccessDesc {
  MUmemLocation location;
  MUmemAccess_flags flags;
} MUmemAccessDesc;

/* memory in the order of streams */
typedef struct MUmemPoolHandle_st* MUmemoryPool;
typedef enum MUmemPool_attribute {
  MU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
  MU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC = 2,
  MU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
  MU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
  MU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
  MU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
  MU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
  MU_MEMPOOL_ATTR_USED_MEM_HIGH = 8
} MUmemPool_attribute;
typedef struct MUmemPoolProps {
  MUmemAllocationType allocType;
  MUmemAllocationHandleType handleTypes;
  MUmemLocation location;
  void* win32SecurityAttributes;
  unsigned char reserved[64];
} MUmemPoolProps;

MUSART_API MUresult muInit(unsigned int flags);
MUSART_API MUresult muDriverGetVersion(int* version);
MUSART_API MUresult muGetErrorName(MUresult error, const char** name);
MUSART_API MUresult muGetErrorString(MUresult error, const char** text);
MUSART_API MUresult muDeviceGetCount(int* count);
MUSART_API MUresult muDeviceGet(MUdevice* device, int index);
MUSART_API MUresult muDeviceGetName(char* name, int length, MUdevice device);
MUSART_API MUresult muDeviceGetAttribute(int* value, MUdevice_attribute attribute, MUdevice device);
MUSART_API MUresult muDeviceTotalMem(size_t* bytes, MUdevice device);
MUSART_API MUresult muDevicePrimaryCtxRetain(MUcontext* context, MUdevice device);
MUSART_API MUresult muDevicePrimaryCtxRelease(MUdevice device);
MUSART_API MUresult muCtxGetCurrent(MUcontext* context);
MUSART_API MUresult muCtxSetCurrent(MUcontext context);
MUSART_API MUresult muCtxGetDevice(MUdevice* device);
MUSART_API MUresult muCtxSynchronize(void);
MUSART_API MUresult muMemGetInfo(size_t* free, size_t* total);
MUSART_API MUresult muMemAlloc(MUdeviceptr* pointer, size_t bytes);
MUSART_API MUresult muMemFree(MUdeviceptr pointer);
MUSART_API MUresult muMemGetAddressRange(MUdeviceptr* base, size_t* size, MUdeviceptr pointer);
MUSART_API MUresult muPointerGetAttribute(void* value, MUpointer_attribute attribute, MUdeviceptr pointer);
MUSART_API MUresult muMemcpyHtoD(MUdeviceptr to, const void* from, size_t bytes);
MUSART_API MUresult muMemcpyDtoH(void* to, MUdeviceptr from, size_t bytes);
MUSART_API MUresult muMemcpyDtoD(MUdeviceptr to, MUdeviceptr from, size_t bytes);
MUSART_API MUresult muMemsetD8(MUdeviceptr pointer, unsigned char value, size_t bytes);
MUSART_API MUresult muMemGetAllocationGranularity(
    size_t* granularity, const MUmemAllocationProp* properties, MUmemAllocationGranularity_flags option);
MUSART_API MUresult
muMemAddressReserve(MUdeviceptr* pointer, size_t size, size_t alignment, MUdeviceptr wanted, unsigned long long flags);
MUSART_API MUresult muMemAddressFree(MUdeviceptr pointer, size_t size);
MUSART_API MUresult muMemCreate(
    MUmemGenericAllocationHandle* handle, size_t size, const MUmemAllocationProp* properties, unsigned long long flags);
MUSART_API MUresult muMemRelease(MUmemGenericAllocationHandle handle);
MUSART_API MUresult muMemRetainAllocationHandle(MUmemGenericAllocationHandle* handle, void* address);
MUSART_API MUresult
muMemGetAllocationPropertiesFromHandle(MUmemAllocationProp* properties, MUmemGenericAllocationHandle handle);
MUSART_API MUresult
muMemMap(MUdeviceptr pointer, size_t size, size_t offset, MUmemGenericAllocationHandle handle, unsigned long long flags);
MUSART_API MUresult muMemUnmap(MUdeviceptr pointer, size_t size);
MUSART_API MUresult muMemSetAccess(MUdeviceptr pointer, size_t size, const MUmemAccessDesc* access, size_t count);
MUSART_API MUresult muMemGetAccess(unsigned long long* flags, const MUmemLocation* location, MUdeviceptr pointer);
MUSART_API MUresult muMemExportToShareableHandle(
    void* shareable, MUmemGenericAllocationHandle handle, MUmemAllocationHandleType type, unsigned long long flags);
MUSART_API MUresult muMemImportFromShareableHandle(
    MUmemGenericAllocationHandle* handle, void* shareable, MUmemAllocationHandleType type);
MUSART_API MUresult muMemAllocAsync(MUdeviceptr* pointer, size_t bytes, MUstream stream);
MUSART_API MUresult muMemAllocFromPoolAsync(MUdeviceptr* pointer, size_t bytes, MUmemoryPool pool, MUstream stream);
MUSART_API MUresult muMemFreeAsync(MUdeviceptr pointer, MUstream stream);
MUSART_API MUresult muDeviceGetDefaultMemPool(MUmemoryPool* pool, MUdevice device);
MUSART_API MUresult muDeviceGetMemPool(MUmemoryPool* pool, MUdevice device);
MUSART_API MUresult muDeviceSetMemPool(MUdevice device, MUmemoryPool pool);
MUSART_API MUresult muMemPoolCreate(MUmemoryPool* pool, const MUmemPoolProps* properties);
MUSART_API MUresult muMemPoolDestroy(MUmemoryPool pool);
MUSART_API MUresult muMemPoolTrimTo(MUmemoryPool pool, size_t keep);
MUSART_API MUresult muMemPoolSetAttribute(MUmemoryPool pool, MUmemPool_attribute attribute, void* value);
MUSART_API MUresult muMemPoolGetAttribute(MUmemoryPool pool, MUmemPool_attribute attribute, void* value);
MUSART_API MUresult muMemPoolSetAccess(MUmemoryPool pool, const MUmemAccessDesc* descriptions, size_t count);
MUSART_API MUresult muMemPoolGetAccess(MUmemAccess_flags* flags, MUmemoryPool pool, MUmemLocation* location);
MUSART_API MUresult muStreamSynchronize(MUstream stream);
MUSART_API MUresult muStreamQuery(MUstream stream);

#ifdef __cplusplus
}
#endif
