/* The part of the MUSA runtime API that the simulated libmusart.so has. Plain C; numbers are those of CUDA and MUSA. */
#ifndef MUSA_RUNTIME_API_H
#define MUSA_RUNTIME_API_H

#include <stddef.h>

#define MUSART_VERSION 50100
#define MUSART_API __attribute__((visibility("default")))
#define MUSA_IPC_HANDLE_SIZE 64

#ifdef __cplusplus
extern "C" {
#endif

typedef enum musaError {
  musaSuccess = 0,
  musaErrorInvalidValue = 1,
  musaErrorMemoryAllocation = 2,
  musaErrorInitializationError = 3,
  musaErrorInvalidConfiguration = 9,
  musaErrorInvalidPitchValue = 12,
  musaErrorInvalidSymbol = 13,
  musaErrorInvalidMemcpyDirection = 21,
  musaErrorMissingConfiguration = 52,
  musaErrorInvalidDeviceFunction = 98,
  musaErrorNoDevice = 100,
  musaErrorInvalidDevice = 101,
  musaErrorDeviceUninitialized = 201,
  musaErrorMapBufferObjectFailed = 205,
  musaErrorNoKernelImageForDevice = 209,
  musaErrorPeerAccessUnsupported = 217,
  musaErrorInvalidResourceHandle = 400,
  musaErrorNotReady = 600,
  musaErrorIllegalAddress = 700,
  musaErrorLaunchOutOfResources = 701,
  musaErrorPeerAccessAlreadyEnabled = 704,
  musaErrorPeerAccessNotEnabled = 705,
  musaErrorAssert = 710,
  musaErrorHostMemoryAlreadyRegistered = 712,
  musaErrorHostMemoryNotRegistered = 713,
  musaErrorLaunchFailure = 719,
  musaErrorCooperativeLaunchTooLarge = 720,
  musaErrorNotPermitted = 800,
  musaErrorNotSupported = 801,
  musaErrorStreamCaptureUnsupported = 900,
  musaErrorStreamCaptureInvalidated = 901,
  musaErrorCapturedEvent = 907,
  musaErrorUnknown = 999
} musaError_t;

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
  musaDevAttrMultiProcessorCount = 16,
  musaDevAttrIntegrated = 18,
  musaDevAttrCanMapHostMemory = 19,
  musaDevAttrPciBusId = 33,
  musaDevAttrMemoryClockRate = 36,
  musaDevAttrGlobalMemoryBusWidth = 37,
  musaDevAttrL2CacheSize = 38,
  musaDevAttrMaxThreadsPerMultiProcessor = 39,
  musaDevAttrUnifiedAddressing = 41,
  musaDevAttrComputeCapabilityMajor = 75,
  musaDevAttrComputeCapabilityMinor = 76,
  musaDevAttrStreamPrioritiesSupported = 78,
  musaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  musaDevAttrMaxRegistersPerMultiprocessor = 82,
  musaDevAttrIsMultiGpuBoard = 84,
  musaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  musaDevAttrHostRegisterSupported = 99,
  musaDevAttrMemoryPoolsSupported = 115,
  musaDevAttrMax = 120
} musaDeviceAttr;

/* The fields that the simulated device has a figure for. Memory is in bytes, clock rates are in kHz. */
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
typedef void (*musaHostFn_t)(void* data);

/* dim3, where whoever includes this has it: the same three numbers. */
#ifndef MUSART_EXTENT
typedef struct MusartExtent {
  unsigned int x, y, z;
} MusartExtent;
#define MUSART_EXTENT MusartExtent
#endif

typedef enum musaFuncAttribute {
  musaFuncAttributeMaxDynamicSharedMemorySize = 8,
  musaFuncAttributePreferredSharedMemoryCarveout = 9
} musaFuncAttribute;

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
MUSART_API musaError_t musaDeviceEnablePeerAccess(int peer, unsigned int flags);
MUSART_API musaError_t musaDeviceDisablePeerAccess(int peer);
MUSART_API musaError_t musaRuntimeGetVersion(int* version);
MUSART_API musaError_t musaDriverGetVersion(int* version);
MUSART_API musaError_t musaProfilerStart(void);
MUSART_API musaError_t musaProfilerStop(void);

/* memory; sizes are in bytes */
MUSART_API musaError_t musaMalloc(void** pointer, size_t size);
MUSART_API musaError_t musaFree(void* pointer);
MUSART_API musaError_t musaMallocAsync(void** pointer, size_t size, musaStream_t stream);
MUSART_API musaError_t musaFreeAsync(void* pointer, musaStream_t stream);
MUSART_API musaError_t musaMemGetInfo(size_t* free, size_t* total);
MUSART_API musaError_t musaMemset(void* pointer, int value, size_t count);
MUSART_API musaError_t musaMemsetAsync(void* pointer, int value, size_t count, musaStream_t stream);
MUSART_API musaError_t musaMemcpy(void* to, const void* from, size_t count, musaMemcpyKind kind);
MUSART_API musaError_t musaMemcpyAsync(void* to, const void* from, size_t count, musaMemcpyKind kind, musaStream_t stream);
MUSART_API musaError_t musaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t count);
MUSART_API musaError_t
musaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t count, musaStream_t stream);
MUSART_API musaError_t musaPointerGetAttributes(musaPointerAttributes* attributes, const void* pointer);
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
MUSART_API musaError_t musaStreamWaitEvent(musaStream_t stream, musaEvent_t event, unsigned int flags);
MUSART_API musaError_t musaStreamGetPriority(musaStream_t stream, int* priority);
MUSART_API musaError_t musaStreamGetFlags(musaStream_t stream, unsigned int* flags);
MUSART_API musaError_t musaStreamIsCapturing(musaStream_t stream, musaStreamCaptureStatus* status);

/* events; times are in milliseconds */
MUSART_API musaError_t musaEventCreate(musaEvent_t* event);
MUSART_API musaError_t musaEventCreateWithFlags(musaEvent_t* event, unsigned int flags);
MUSART_API musaError_t musaEventDestroy(musaEvent_t event);
MUSART_API musaError_t musaEventRecord(musaEvent_t event, musaStream_t stream);
MUSART_API musaError_t musaEventSynchronize(musaEvent_t event);
MUSART_API musaError_t musaEventQuery(musaEvent_t event);
MUSART_API musaError_t musaEventElapsedTime(float* milliseconds, musaEvent_t begin, musaEvent_t end);

/* kernels; `function` is the address of a function that mcc has compiled as __global__ */
MUSART_API musaError_t musaLaunchKernel(
    const void* function, MUSART_EXTENT grid, MUSART_EXTENT block, void** arguments, size_t shared, musaStream_t stream);
MUSART_API musaError_t musaLaunchCooperativeKernel(
    const void* function, MUSART_EXTENT grid, MUSART_EXTENT block, void** arguments, size_t shared, musaStream_t stream);
MUSART_API musaError_t musaLaunchHostFunc(musaStream_t stream, musaHostFn_t function, void* data);
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
