/* The part of the MUSA runtime API that the simulated libmusart.so has. Plain C; numbers are those of CUDA and MUSA. */
#ifndef MUSA_RUNTIME_API_H
#define MUSA_RUNTIME_API_H

#include <stddef.h>

#include "musasim/errors.h"

#define MUSART_VERSION 50100
#define MUSART_API __attribute__((visibility("default")))
#define MUSA_IPC_HANDLE_SIZE 64

#ifdef __cplusplus
#define MUSART_DEFAULT(value) = value
extern "C" {
#else
#define MUSART_DEFAULT(value)
#endif

typedef enum musaMemcpyKind {
  musaMemcpyHostToHost = 0,
  musaMemcpyHostToDevice = 1,
  musaMemcpyDeviceToHost = 2,
  musaMemcpyDeviceToDevice = 3,
  musaMemcpyDefault = 4
} musaMemcpyKind;

typedef enum musaMemoryType {
  musaMemoryTypeUnregistered = 0,
  musaMemoryTypeHost = 1,
  musaMemoryTypeDevice = 2,
  musaMemoryTypeManaged = 3
} musaMemoryType;

typedef enum musaStreamCaptureStatus {
  musaStreamCaptureStatusNone = 0,
  musaStreamCaptureStatusActive = 1,
  musaStreamCaptureStatusInvalidated = 2
} musaStreamCaptureStatus;

typedef enum musaStreamCaptureMode {
  musaStreamCaptureModeGlobal = 0,
  musaStreamCaptureModeThreadLocal = 1,
  musaStreamCaptureModeRelaxed = 2
} musaStreamCaptureMode;

typedef enum musaMemoryAdvise {
  musaMemAdviseSetReadMostly = 1,
  musaMemAdviseUnsetReadMostly = 2,
  musaMemAdviseSetPreferredLocation = 3,
  musaMemAdviseUnsetPreferredLocation = 4,
  musaMemAdviseSetAccessedBy = 5,
  musaMemAdviseUnsetAccessedBy = 6
} musaMemoryAdvise;

typedef enum musaLimit {
  musaLimitStackSize = 0,
  musaLimitPrintfFifoSize = 1,
  musaLimitMallocHeapSize = 2
} musaLimit;

typedef enum musaSharedMemConfig {
  musaSharedMemBankSizeDefault = 0,
  musaSharedMemBankSizeFourByte = 1,
  musaSharedMemBankSizeEightByte = 2
} musaSharedMemConfig;

/* The attributes that the simulated device has a figure for; every other one up to musaDevAttrMax is 0. */
typedef enum musaDeviceAttr {
  musaDevAttrMaxThreadsPerBlock = 1,
  musaDevAttrMaxBlockDimX = 2,
  musaDevAttrMaxBlockDimY = 3,
  musaDevAttrMaxBlockDimZ = 4,
  musaDevAttrMaxGridDimX = 5,
  musaDevAttrMaxGridDimY = 6,
  musaDevAttrMaxGridDimZ = 7,
  musaDevAttrMaxSharedMemoryPerBlock = 8,
  musaDevAttrTotalConstantMemory = 9,
  musaDevAttrWarpSize = 10,
  musaDevAttrMaxPitch = 11,
  musaDevAttrMaxRegistersPerBlock = 12,
  musaDevAttrClockRate = 13,
  musaDevAttrTextureAlignment = 14,
  musaDevAttrGpuOverlap = 15,
  musaDevAttrMultiProcessorCount = 16,
  musaDevAttrKernelExecTimeout = 17,
  musaDevAttrIntegrated = 18,
  musaDevAttrCanMapHostMemory = 19,
  musaDevAttrComputeMode = 20,
  musaDevAttrConcurrentKernels = 31,
  musaDevAttrEccEnabled = 32,
  musaDevAttrPciBusId = 33,
  musaDevAttrPciDeviceId = 34,
  musaDevAttrTccDriver = 35,
  musaDevAttrMemoryClockRate = 36,
  musaDevAttrGlobalMemoryBusWidth = 37,
  musaDevAttrL2CacheSize = 38,
  musaDevAttrMaxThreadsPerMultiProcessor = 39,
  musaDevAttrAsyncEngineCount = 40,
  musaDevAttrUnifiedAddressing = 41,
  musaDevAttrPciDomainId = 50,
  musaDevAttrTexturePitchAlignment = 51,
  musaDevAttrComputeCapabilityMajor = 75,
  musaDevAttrComputeCapabilityMinor = 76,
  musaDevAttrStreamPrioritiesSupported = 78,
  musaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  musaDevAttrMaxRegistersPerMultiprocessor = 82,
  musaDevAttrManagedMemory = 83,
  musaDevAttrConcurrentManagedAccess = 89,
  musaDevAttrIsMultiGpuBoard = 84,
  musaDevAttrCooperativeLaunch = 95,
  musaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  musaDevAttrHostRegisterSupported = 99,
  musaDevAttrMaxBlocksPerMultiprocessor = 106,
  musaDevAttrMemoryPoolsSupported = 115,
  musaDevAttrMax = 120
} musaDeviceAttr;

/* What a link between two devices can do. */
typedef enum musaDeviceP2PAttr {
  musaDevP2PAttrPerformanceRank = 1,
  musaDevP2PAttrAccessSupported = 2,
  musaDevP2PAttrNativeAtomicSupported = 3,
  musaDevP2PAttrMusaArrayAccessSupported = 4
} musaDeviceP2PAttr;

/* Who may use a device. */
typedef enum musaComputeMode {
  musaComputeModeDefault = 0,
  musaComputeModeExclusive = 1,
  musaComputeModeProhibited = 2,
  musaComputeModeExclusiveProcess = 3
} musaComputeMode;

/* The fields that the simulated device has a figure for. Memory is in bytes, clock rates are in kHz. */
typedef enum musaMemPoolAttr {
  musaMemPoolReuseFollowEventDependencies = 1,
  musaMemPoolReuseAllowOpportunistic = 2,
  musaMemPoolReuseAllowInternalDependencies = 3,
  musaMemPoolAttrReleaseThreshold = 4,
  musaMemPoolAttrReservedMemCurrent = 5,
  musaMemPoolAttrReservedMemHigh = 6,
  musaMemPoolAttrUsedMemCurrent = 7,
  musaMemPoolAttrUsedMemHigh = 8
} musaMemPoolAttr;
typedef enum musaMemAllocationType {
  musaMemAllocationTypeInvalid = 0,
  musaMemAllocationTypePinned = 1,
  musaMemAllocationTypeMax = 0x7fffffff
} musaMemAllocationType;
typedef enum musaMemAllocationHandleType {
  musaMemHandleTypeNone = 0,
  musaMemHandleTypePosixFileDescriptor = 1,
  musaMemHandleTypeWin32 = 2,
  musaMemHandleTypeWin32Kmt = 4
} musaMemAllocationHandleType;
typedef enum musaMemLocationType { musaMemLocationTypeInvalid = 0, musaMemLocationTypeDevice = 1 } musaMemLocationType;
typedef enum musaMemAccessFlags {
  musaMemAccessFlagsProtNone = 0,
  musaMemAccessFlagsProtRead = 1,
  musaMemAccessFlagsProtReadWrite = 3
} musaMemAccessFlags;
typedef struct musaMemLocation {
  musaMemLocationType type;
  int id;
} musaMemLocation;
typedef struct musaMemAccessDesc {
  musaMemLocation location;
  musaMemAccessFlags flags;
} musaMemAccessDesc;
typedef struct musaMemPoolProps {
  musaMemAllocationType allocType;
  musaMemAllocationHandleType handleTypes;
  musaMemLocation location;
  void* win32SecurityAttributes;
  unsigned char reserved[64];
} musaMemPoolProps;

typedef struct musaDeviceProp {
  char name[256];
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  size_t memPitch;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int clockRate;
  size_t totalConstMem;
  int major;
  int minor;
  int multiProcessorCount;
  int integrated;
  int canMapHostMemory;
  int pciBusID;
  int unifiedAddressing;
  int memoryClockRate;
  int memoryBusWidth;
  int l2CacheSize;
  int maxThreadsPerMultiProcessor;
  int streamPrioritiesSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor;
  int isMultiGpuBoard;
  size_t sharedMemPerBlockOptin;
  int pciDeviceID;
  int pciDomainID;
  int asyncEngineCount;
  int concurrentKernels;
  int managedMemory;
  int cooperativeLaunch;
  int maxBlocksPerMultiProcessor;
  int computeMode; /* musaComputeModeDefault */
  int ECCEnabled;
  int kernelExecTimeoutEnabled;
  int deviceOverlap;
  int tccDriver;
  size_t textureAlignment;
  size_t texturePitchAlignment;
} musaDeviceProp;

typedef struct musaPointerAttributes {
  musaMemoryType type;
  int device; /* -2 for memory that the runtime does not know */
  void* devicePointer;
  void* hostPointer;
} musaPointerAttributes;

typedef struct musaIpcMemHandle_st {
  char reserved[MUSA_IPC_HANDLE_SIZE];
} musaIpcMemHandle_t;

typedef struct musaIpcEventHandle_st {
  char reserved[MUSA_IPC_HANDLE_SIZE];
} musaIpcEventHandle_t;

typedef struct MUstream_st* musaStream_t;
typedef struct MUevent_st* musaEvent_t;
typedef struct MUmemPoolHandle_st* musaMemPool_t;
typedef struct MUgraph_st* musaGraph_t;
typedef struct MUgraphNode_st* musaGraphNode_t;
typedef struct MUgraphExec_st* musaGraphExec_t;
typedef void (*musaHostFn_t)(void* data);
typedef void (*musaStreamCallback_t)(musaStream_t stream, musaError_t status, void* data);

/* dim3, where whoever includes this has it: the same three numbers. */
#ifndef MUSART_EXTENT
typedef struct MusartExtent {
  unsigned int x, y, z;
} MusartExtent;
#define MUSART_EXTENT MusartExtent
#endif

/* What musaLaunchKernelExC takes; an attribute that is not listed is refused, and clusters of more than one block are. A kernel never
   begins before its predecessor's end, so programmaticStreamSerializationAllowed is for sources that set it, beside Ignore. */
typedef enum musaLaunchAttributeID {
  musaLaunchAttributeIgnore = 0,
  musaLaunchAttributeCooperative = 2,
  musaLaunchAttributeClusterDimension = 4,
  musaLaunchAttributePriority = 8,
} musaLaunchAttributeID;
typedef union musaLaunchAttributeValue {
  char pad[64];
  int cooperative;
  struct {
    unsigned int x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
  int priority;
} musaLaunchAttributeValue;
typedef struct musaLaunchAttribute {
  musaLaunchAttributeID id;
  char pad[8 - sizeof(musaLaunchAttributeID)];
  musaLaunchAttributeValue val;
} musaLaunchAttribute;
typedef struct musaLaunchConfig_t {
  MUSART_EXTENT gridDim;
  MUSART_EXTENT blockDim;
  size_t dynamicSmemBytes;
  musaStream_t stream;
  musaLaunchAttribute* attrs;
  unsigned int numAttrs;
} musaLaunchConfig_t;

typedef enum musaGraphNodeType {
  musaGraphNodeTypeKernel = 0,
  musaGraphNodeTypeMemcpy = 1,
  musaGraphNodeTypeMemset = 2,
  musaGraphNodeTypeHost = 3
} musaGraphNodeType;
typedef struct musaKernelNodeParams {
  void* func;
  MUSART_EXTENT gridDim;
  MUSART_EXTENT blockDim;
  unsigned int sharedMemBytes;
  void** kernelParams;
  void** extra;
} musaKernelNodeParams;

typedef enum musaFuncAttribute {
  musaFuncAttributeMaxDynamicSharedMemorySize = 8,
  musaFuncAttributePreferredSharedMemoryCarveout = 9
} musaFuncAttribute;

/* Shared memory preferred for a kernel, in per cent of what there is at most. */
typedef enum musaSharedCarveout {
  musaSharedmemCarveoutDefault = -1,
  musaSharedmemCarveoutMaxL1 = 0,
  musaSharedmemCarveoutMaxShared = 100
} musaSharedCarveout;

typedef enum musaFuncCache {
  musaFuncCachePreferNone = 0,
  musaFuncCachePreferShared = 1,
  musaFuncCachePreferL1 = 2,
  musaFuncCachePreferEqual = 3
} musaFuncCache;

/* Registers and local memory are figures without a meaning here. */
typedef struct musaFuncAttributes {
  size_t sharedSizeBytes; /* of the __shared__ variables that threads have passed so far */
  size_t constSizeBytes;
  size_t localSizeBytes;
  int maxThreadsPerBlock;
  int numRegs;
  int ptxVersion;
  int binaryVersion;
  int cacheModeCA;
  int maxDynamicSharedSizeBytes;
  int preferredShmemCarveout;
} musaFuncAttributes;

#define musaStreamDefault 0x0
#define musaStreamNonBlocking 0x1
#define musaStreamLegacy ((musaStream_t)0x1)
#define musaStreamPerThread ((musaStream_t)0x2)
#define musaEventDefault 0x0
#define musaEventBlockingSync 0x1
#define musaEventDisableTiming 0x2
#define musaEventInterprocess 0x4
#define musaHostAllocDefault 0x0
#define musaHostAllocPortable 0x1
#define musaHostAllocMapped 0x2
#define musaHostAllocWriteCombined 0x4
#define musaHostRegisterDefault 0x0
#define musaHostRegisterPortable 0x1
#define musaHostRegisterMapped 0x2
#define musaMemAttachGlobal 0x1
#define musaMemAttachHost 0x2
#define musaCpuDeviceId (-1)
#define musaDeviceScheduleAuto 0x0
#define musaDeviceScheduleSpin 0x1
#define musaDeviceScheduleYield 0x2
#define musaDeviceScheduleBlockingSync 0x4
#define musaDeviceMapHost 0x8
#define musaIpcMemLazyEnablePeerAccess 0x1
#define musaInvalidDeviceId (-2)

/* errors */
MUSART_API const char* musaGetErrorString(musaError_t error);
MUSART_API const char* musaGetErrorName(musaError_t error);
MUSART_API musaError_t musaGetLastError(void);
MUSART_API musaError_t musaPeekAtLastError(void);

/* devices */
MUSART_API musaError_t musaGetDeviceCount(int* count);
MUSART_API musaError_t musaSetDevice(int device);
MUSART_API musaError_t musaGetDevice(int* device);
MUSART_API musaError_t musaDeviceSynchronize(void);
MUSART_API musaError_t musaDeviceReset(void);
MUSART_API musaError_t musaDeviceGetAttribute(int* value, musaDeviceAttr attribute, int device);
MUSART_API musaError_t musaGetDeviceProperties(musaDeviceProp* properties, int device);
MUSART_API musaError_t musaDeviceGetPCIBusId(char* text, int length, int device);
MUSART_API musaError_t musaDeviceGetByPCIBusId(int* device, const char* text);
MUSART_API musaError_t musaDeviceGetStreamPriorityRange(int* least, int* greatest);
MUSART_API musaError_t musaDeviceCanAccessPeer(int* can, int device, int peer);
MUSART_API musaError_t musaDeviceGetP2PAttribute(int* value, musaDeviceP2PAttr attribute, int device, int peer);
MUSART_API musaError_t musaDeviceEnablePeerAccess(int peer, unsigned int flags);
MUSART_API musaError_t musaDeviceDisablePeerAccess(int peer);
MUSART_API musaError_t musaRuntimeGetVersion(int* version);
MUSART_API musaError_t musaDriverGetVersion(int* version);
MUSART_API musaError_t musaProfilerStart(void);
MUSART_API musaError_t musaProfilerStop(void);

/* memory; sizes are in bytes */
MUSART_API musaError_t musaMalloc(void** pointer, size_t size);
MUSART_API musaError_t musaFree(void* pointer);
MUSART_API musaError_t musaMemGetInfo(size_t* free, size_t* total);
MUSART_API musaError_t musaMemset(void* pointer, int value, size_t count);
MUSART_API musaError_t musaMemsetAsync(void* pointer, int value, size_t count, musaStream_t stream MUSART_DEFAULT(0));
MUSART_API musaError_t musaMemcpy(void* to, const void* from, size_t count, musaMemcpyKind kind);
MUSART_API musaError_t musaMemcpyAsync(void* to, const void* from, size_t count, musaMemcpyKind kind, musaStream_t stream MUSART_DEFAULT(0));
MUSART_API musaError_t musaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t count);
MUSART_API musaError_t
musaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t count, musaStream_t stream MUSART_DEFAULT(0));
MUSART_API musaError_t musaPointerGetAttributes(musaPointerAttributes* attributes, const void* pointer);
/* The allocation that the pointer lies in, for the driver's functions, which tell it. */
MUSART_API musaError_t musasim_allocation(const void* pointer, void** base, size_t* size);
/* Around what a library computes in the device's place: MUSASIM_PROTECT. */
MUSART_API void musasim_begin_device_work(void);
MUSART_API void musasim_end_device_work(void);
/* Does what a library computes in the stream as a kernel of this name, for a profiler that records. */
MUSART_API void musasim_as_kernel(const char* name, musaStream_t stream, void (*work)(void*), void* data);
/* What the driver's functions for virtual memory are made of (musa.h). `access` is 0, 1 (to read) or 3. */
MUSART_API musaError_t musasim_reserve(void** base, size_t size, size_t alignment);
MUSART_API musaError_t musasim_cancel_reservation(void* base, size_t size);
MUSART_API musaError_t musasim_memory_create(unsigned long long* handle, size_t size, int device, int is_exportable);
MUSART_API musaError_t musasim_memory_release(unsigned long long handle);
MUSART_API musaError_t musasim_memory_retain(unsigned long long* handle, const void* address);
MUSART_API musaError_t musasim_memory_describe(unsigned long long handle, int* device, int* is_exportable);
MUSART_API musaError_t musasim_memory_export(unsigned long long handle, int* file);
MUSART_API musaError_t musasim_memory_import(unsigned long long* handle, int file);
MUSART_API musaError_t musasim_memory_map(void* address, size_t size, unsigned long long handle);
MUSART_API musaError_t musasim_memory_unmap(void* address, size_t size);
MUSART_API musaError_t musasim_memory_permit(void* address, size_t size, int device, int access);
MUSART_API musaError_t musasim_memory_access(const void* address, int device, int* access);
MUSART_API musaError_t musaMallocHost(void** pointer, size_t size);
MUSART_API musaError_t musaHostAlloc(void** pointer, size_t size, unsigned int flags);
MUSART_API musaError_t musaFreeHost(void* pointer);
MUSART_API musaError_t musaHostRegister(void* pointer, size_t size, unsigned int flags);
MUSART_API musaError_t musaHostUnregister(void* pointer);
MUSART_API musaError_t musaHostGetDevicePointer(void** device, void* host, unsigned int flags);

/* sharing memory with other processes of the same user */
MUSART_API musaError_t musaIpcGetMemHandle(musaIpcMemHandle_t* handle, void* pointer);
MUSART_API musaError_t musaIpcOpenMemHandle(void** pointer, musaIpcMemHandle_t handle, unsigned int flags);
MUSART_API musaError_t musaIpcCloseMemHandle(void* pointer);
MUSART_API musaError_t musaIpcGetEventHandle(musaIpcEventHandle_t* handle, musaEvent_t event);
MUSART_API musaError_t musaIpcOpenEventHandle(musaEvent_t* event, musaIpcEventHandle_t handle);

/* streams */
MUSART_API musaError_t musaStreamCreate(musaStream_t* stream);
MUSART_API musaError_t musaStreamCreateWithFlags(musaStream_t* stream, unsigned int flags);
MUSART_API musaError_t musaStreamCreateWithPriority(musaStream_t* stream, unsigned int flags, int priority);
MUSART_API musaError_t musaStreamDestroy(musaStream_t stream);
MUSART_API musaError_t musaStreamSynchronize(musaStream_t stream);
MUSART_API musaError_t musaStreamQuery(musaStream_t stream);
MUSART_API musaError_t musaStreamWaitEvent(musaStream_t stream, musaEvent_t event, unsigned int flags MUSART_DEFAULT(0));
MUSART_API musaError_t musaStreamGetPriority(musaStream_t stream, int* priority);
MUSART_API musaError_t musaStreamGetFlags(musaStream_t stream, unsigned int* flags);
MUSART_API musaError_t musaStreamIsCapturing(musaStream_t stream, musaStreamCaptureStatus* status);

/* events; times are in milliseconds */
MUSART_API musaError_t musaEventCreate(musaEvent_t* event);
MUSART_API musaError_t musaEventCreateWithFlags(musaEvent_t* event, unsigned int flags);
MUSART_API musaError_t musaEventDestroy(musaEvent_t event);
MUSART_API musaError_t musaEventRecord(musaEvent_t event, musaStream_t stream MUSART_DEFAULT(0));
MUSART_API musaError_t musaEventRecordWithFlags(musaEvent_t event, musaStream_t stream MUSART_DEFAULT(0), unsigned int flags MUSART_DEFAULT(0));
MUSART_API musaError_t musaEventSynchronize(musaEvent_t event);
MUSART_API musaError_t musaEventQuery(musaEvent_t event);
MUSART_API musaError_t musaEventElapsedTime(float* milliseconds, musaEvent_t begin, musaEvent_t end);

/* kernels; `function` is the address of a function that mcc has compiled as __global__ */
MUSART_API musaError_t musaLaunchKernel(
    const void* function, MUSART_EXTENT grid, MUSART_EXTENT block, void** arguments, size_t shared, musaStream_t stream);
MUSART_API musaError_t musaLaunchCooperativeKernel(
    const void* function, MUSART_EXTENT grid, MUSART_EXTENT block, void** arguments, size_t shared, musaStream_t stream);
MUSART_API musaError_t musaLaunchKernelExC(const musaLaunchConfig_t* config, const void* function, void** arguments);
MUSART_API musaError_t musaLaunchHostFunc(musaStream_t stream, musaHostFn_t function, void* data);
MUSART_API musaError_t
musaStreamAddCallback(musaStream_t stream, musaStreamCallback_t callback, void* data, unsigned int flags);
MUSART_API musaError_t musaFuncSetAttribute(const void* function, musaFuncAttribute attribute, int value);
MUSART_API musaError_t musaFuncSetCacheConfig(const void* function, musaFuncCache config);
MUSART_API musaError_t musaFuncGetAttributes(musaFuncAttributes* attributes, const void* function);
MUSART_API musaError_t
musaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads, size_t shared);
MUSART_API musaError_t musaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int threads, size_t shared, unsigned int flags);
/* What musaOccupancyMaxPotentialBlockSize, a template, is made of. */
MUSART_API musaError_t musasim_occupancy_block_size(
    int* grid, int* block, const void* function, size_t (*shared_of)(int, const void*), const void* context, int limit);


/* rows with a pitch */
MUSART_API musaError_t musaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height);
MUSART_API musaError_t musaMemcpy2D(
    void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, musaMemcpyKind kind);
MUSART_API musaError_t musaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
    size_t height, musaMemcpyKind kind, musaStream_t stream MUSART_DEFAULT(0));
MUSART_API musaError_t musaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height);
MUSART_API musaError_t
musaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height, musaStream_t stream MUSART_DEFAULT(0));

/* memory in the order of streams, and the pools that it comes from */
MUSART_API musaError_t musaMallocAsync(void** pointer, size_t size, musaStream_t stream);
MUSART_API musaError_t musaMallocFromPoolAsync(void** pointer, size_t size, musaMemPool_t pool, musaStream_t stream);
MUSART_API musaError_t musaFreeAsync(void* pointer, musaStream_t stream);
MUSART_API musaError_t musaDeviceGetDefaultMemPool(musaMemPool_t* pool, int device);
MUSART_API musaError_t musaDeviceGetMemPool(musaMemPool_t* pool, int device);
MUSART_API musaError_t musaDeviceSetMemPool(int device, musaMemPool_t pool);
MUSART_API musaError_t musaMemPoolCreate(musaMemPool_t* pool, const musaMemPoolProps* properties);
MUSART_API musaError_t musaMemPoolDestroy(musaMemPool_t pool);
MUSART_API musaError_t musaMemPoolTrimTo(musaMemPool_t pool, size_t keep);
/* `value` is an int for reuse, and a 64-bit number for the others */
MUSART_API musaError_t musaMemPoolSetAttribute(musaMemPool_t pool, musaMemPoolAttr attribute, void* value);
MUSART_API musaError_t musaMemPoolGetAttribute(musaMemPool_t pool, musaMemPoolAttr attribute, void* value);
MUSART_API musaError_t musaMemPoolSetAccess(musaMemPool_t pool, const musaMemAccessDesc* descriptions, size_t count);
MUSART_API musaError_t musaMemPoolGetAccess(musaMemAccessFlags* flags, musaMemPool_t pool, musaMemLocation* location);

/* memory for host and device */
MUSART_API musaError_t
musaMallocManaged(void** pointer, size_t size, unsigned int flags MUSART_DEFAULT(musaMemAttachGlobal));
MUSART_API musaError_t musaMemPrefetchAsync(const void* pointer, size_t count, int device, musaStream_t stream);
MUSART_API musaError_t musaMemAdvise(const void* pointer, size_t count, musaMemoryAdvise advice, int device);

/* graphs */
MUSART_API musaError_t musaStreamBeginCapture(musaStream_t stream, musaStreamCaptureMode mode);
MUSART_API musaError_t musaStreamEndCapture(musaStream_t stream, musaGraph_t* graph);
MUSART_API musaError_t musaGraphGetNodes(musaGraph_t graph, musaGraphNode_t* nodes, size_t* count);
MUSART_API musaError_t musaGraphNodeGetType(musaGraphNode_t node, musaGraphNodeType* type);
/* kernelParams points to the node's own copies, which live as long as its graph. `func` is what musaLaunchKernel was given; of a
   kernel that was launched by <<<>>> it names the kernel, and cannot be launched. Operators of torch_musa have no parameters to tell. */
MUSART_API musaError_t musaGraphKernelNodeGetParams(musaGraphNode_t node, musaKernelNodeParams* parameters);
/* `node` is one of the graph that the executable was made of; `func` has to be the one that it has. */
MUSART_API musaError_t musaGraphExecKernelNodeSetParams(
    musaGraphExec_t executable, musaGraphNode_t node, const musaKernelNodeParams* parameters);
MUSART_API musaError_t musaGraphInstantiate(musaGraphExec_t* executable, musaGraph_t graph, unsigned long long flags);
MUSART_API musaError_t musaGraphLaunch(musaGraphExec_t executable, musaStream_t stream);
MUSART_API musaError_t musaGraphDestroy(musaGraph_t graph);
MUSART_API musaError_t musaGraphExecDestroy(musaGraphExec_t executable);
MUSART_API musaError_t musaThreadExchangeStreamCaptureMode(musaStreamCaptureMode* mode);

/* hints and settings that change nothing here */
MUSART_API musaError_t musaSetDeviceFlags(unsigned int flags);
MUSART_API musaError_t musaGetDeviceFlags(unsigned int* flags);
MUSART_API musaError_t musaDeviceSetLimit(musaLimit limit, size_t value);
MUSART_API musaError_t musaDeviceGetLimit(size_t* value, musaLimit limit);
MUSART_API musaError_t musaDeviceSetCacheConfig(musaFuncCache config);
MUSART_API musaError_t musaDeviceSetSharedMemConfig(musaSharedMemConfig config);
MUSART_API musaError_t musaFuncSetSharedMemConfig(const void* function, musaSharedMemConfig config);

/* variables of the device; `symbol` is the variable's address */
MUSART_API musaError_t musaGetSymbolAddress(void** address, const void* symbol);
MUSART_API musaError_t musaGetSymbolSize(size_t* bytes, const void* symbol);
MUSART_API musaError_t
musaMemcpyToSymbol(const void* symbol, const void* from, size_t count, size_t offset, musaMemcpyKind kind);
MUSART_API musaError_t
musaMemcpyFromSymbol(void* to, const void* symbol, size_t count, size_t offset, musaMemcpyKind kind);
MUSART_API musaError_t musaMemcpyToSymbolAsync(
    const void* symbol, const void* from, size_t count, size_t offset, musaMemcpyKind kind, musaStream_t stream);
MUSART_API musaError_t musaMemcpyFromSymbolAsync(
    void* to, const void* symbol, size_t count, size_t offset, musaMemcpyKind kind, musaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
