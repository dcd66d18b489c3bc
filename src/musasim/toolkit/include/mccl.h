/* The C API of MCCL, which is NCCL's under MUSA's names: communicators of ranks that are processes or threads of one machine. What
   no program calls in public that was written for MUSA is left out, such as a counterpart of ncclCommSplit. */
#pragma once

#include <musa_runtime_api.h>

#define MCCL_MAJOR 2
#define MCCL_MINOR 28
#define MCCL_PATCH 9
#define MCCL_VERSION_CODE 22809
#define MCCL_UNIQUE_ID_BYTES 128

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcclComm* mcclComm_t;
typedef struct mcclWindow* mcclWindow_t;

typedef struct {
  char internal[MCCL_UNIQUE_ID_BYTES];
} mcclUniqueId;

typedef enum {
  mcclSuccess = 0,
  mcclUnhandledMusaError = 1,
  mcclSystemError = 2,
  mcclInternalError = 3,
  mcclInvalidArgument = 4,
  mcclInvalidUsage = 5,
  mcclRemoteError = 6,
  mcclInProgress = 7,
  mcclNumResults = 8
} mcclResult_t;

typedef enum { mcclSum = 0, mcclProd = 1, mcclMax = 2, mcclMin = 3, mcclAvg = 4, mcclNumOps = 5, mcclMaxRedOp = 0x7fffffff } mcclRedOp_t;

typedef enum {
  mcclInt8 = 0,
  mcclChar = 0,
  mcclUint8 = 1,
  mcclInt32 = 2,
  mcclInt = 2,
  mcclUint32 = 3,
  mcclInt64 = 4,
  mcclUint64 = 5,
  mcclFloat16 = 6,
  mcclHalf = 6,
  mcclFloat32 = 7,
  mcclFloat = 7,
  mcclFloat64 = 8,
  mcclDouble = 8,
  mcclBfloat16 = 9,
  mcclFp8E4M3 = 10,
  mcclFp8E5M2 = 11,
  mcclNumTypes = 12
} mcclDataType_t;

/* When the number behind a pointer is read: when a reduction runs, or before the function returns. */
typedef enum { mcclScalarDevice = 0, mcclScalarHostImmediate = 1 } mcclScalarResidence_t;

/* The first members of a configuration. Those that follow say how to use the device, which has nothing to choose here. */
typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;
} mcclConfig_t;

MUSART_API mcclResult_t mcclGetVersion(int* version);
MUSART_API const char* mcclGetErrorString(mcclResult_t result);
MUSART_API const char* mcclGetLastError(mcclComm_t comm);

MUSART_API mcclResult_t mcclGetUniqueId(mcclUniqueId* id);
MUSART_API mcclResult_t mcclCommInitRank(mcclComm_t* comm, int ranks, mcclUniqueId id, int rank);
MUSART_API mcclResult_t mcclCommInitRankConfig(mcclComm_t* comm, int ranks, mcclUniqueId id, int rank, mcclConfig_t* config);
MUSART_API mcclResult_t mcclCommInitAll(mcclComm_t* comms, int count, const int* devices);
MUSART_API mcclResult_t mcclCommFinalize(mcclComm_t comm);
MUSART_API mcclResult_t mcclCommDestroy(mcclComm_t comm);
MUSART_API mcclResult_t mcclCommAbort(mcclComm_t comm);
MUSART_API mcclResult_t mcclCommGetAsyncError(mcclComm_t comm, mcclResult_t* result);
MUSART_API mcclResult_t mcclCommCount(mcclComm_t comm, int* count);
MUSART_API mcclResult_t mcclCommUserRank(mcclComm_t comm, int* rank);
MUSART_API mcclResult_t mcclCommCuDevice(mcclComm_t comm, int* device);

/* A sum of numbers that each rank multiplies by one of its own before. */
MUSART_API mcclResult_t mcclRedOpCreatePreMulSum(mcclRedOp_t* op, void* scalar, mcclDataType_t type, mcclScalarResidence_t residence, mcclComm_t comm);
MUSART_API mcclResult_t mcclRedOpDestroy(mcclRedOp_t op, mcclComm_t comm);

MUSART_API mcclResult_t mcclGroupStart(void);
MUSART_API mcclResult_t mcclGroupEnd(void);
MUSART_API mcclResult_t mcclAllReduce(const void* from, void* to, size_t count, mcclDataType_t type, mcclRedOp_t op, mcclComm_t comm, musaStream_t stream);
MUSART_API mcclResult_t mcclReduce(const void* from, void* to, size_t count, mcclDataType_t type, mcclRedOp_t op, int root, mcclComm_t comm, musaStream_t stream);
MUSART_API mcclResult_t mcclReduceScatter(const void* from, void* to, size_t each, mcclDataType_t type, mcclRedOp_t op, mcclComm_t comm, musaStream_t stream);
MUSART_API mcclResult_t mcclAllGather(const void* from, void* to, size_t each, mcclDataType_t type, mcclComm_t comm, musaStream_t stream);
MUSART_API mcclResult_t mcclBroadcast(const void* from, void* to, size_t count, mcclDataType_t type, int root, mcclComm_t comm, musaStream_t stream);
MUSART_API mcclResult_t mcclBcast(void* buffer, size_t count, mcclDataType_t type, int root, mcclComm_t comm, musaStream_t stream);
MUSART_API mcclResult_t mcclSend(const void* from, size_t count, mcclDataType_t type, int peer, mcclComm_t comm, musaStream_t stream);
MUSART_API mcclResult_t mcclRecv(void* to, size_t count, mcclDataType_t type, int peer, mcclComm_t comm, musaStream_t stream);

MUSART_API mcclResult_t mcclMemAlloc(void** pointer, size_t size);
MUSART_API mcclResult_t mcclMemFree(void* pointer);
MUSART_API mcclResult_t mcclCommWindowRegister(mcclComm_t comm, void* buffer, size_t size, mcclWindow_t* window, int flags);
MUSART_API mcclResult_t mcclCommWindowDeregister(mcclComm_t comm, mcclWindow_t window);

#ifdef __cplusplus
}
#endif
