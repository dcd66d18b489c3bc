// The host API of muSPARSE, as far as extensions call it: products of sparse matrices (CSR, COO) with vectors and dense matrices.
#pragma once

#include "library_types.h"
#include "muComplex.h"
#include "musa_runtime_api.h"

#define MUSPARSEAPI __attribute__((visibility("default")))

struct musparseContext;
typedef struct musparseContext* musparseHandle_t;
struct musparseSpMatDescr;
typedef struct musparseSpMatDescr* musparseSpMatDescr_t;
struct musparseDnMatDescr;
typedef struct musparseDnMatDescr* musparseDnMatDescr_t;
struct musparseDnVecDescr;
typedef struct musparseDnVecDescr* musparseDnVecDescr_t;

enum musparseStatus_t {
  MUSPARSE_STATUS_SUCCESS = 0,
  MUSPARSE_STATUS_NOT_INITIALIZED = 1,
  MUSPARSE_STATUS_ALLOC_FAILED = 2,
  MUSPARSE_STATUS_INVALID_VALUE = 3,
  MUSPARSE_STATUS_ARCH_MISMATCH = 4,
  MUSPARSE_STATUS_MAPPING_ERROR = 5,
  MUSPARSE_STATUS_EXECUTION_FAILED = 6,
  MUSPARSE_STATUS_INTERNAL_ERROR = 7,
  MUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8,
  MUSPARSE_STATUS_ZERO_PIVOT = 9,
  MUSPARSE_STATUS_NOT_SUPPORTED = 10,
  MUSPARSE_STATUS_INSUFFICIENT_RESOURCES = 11
};
enum musparseOperation_t {
  MUSPARSE_OPERATION_NON_TRANSPOSE = 0,
  MUSPARSE_OPERATION_TRANSPOSE = 1,
  MUSPARSE_OPERATION_CONJUGATE_TRANSPOSE = 2
};
enum musparseIndexType_t { MUSPARSE_INDEX_16U = 1, MUSPARSE_INDEX_32I = 2, MUSPARSE_INDEX_64I = 3 };
enum musparseIndexBase_t { MUSPARSE_INDEX_BASE_ZERO = 0, MUSPARSE_INDEX_BASE_ONE = 1 };
enum musparseOrder_t { MUSPARSE_ORDER_COL = 1, MUSPARSE_ORDER_ROW = 2 };
enum musparsePointerMode_t { MUSPARSE_POINTER_MODE_HOST = 0, MUSPARSE_POINTER_MODE_DEVICE = 1 };
enum musparseSpMVAlg_t { MUSPARSE_SPMV_ALG_DEFAULT = 0, MUSPARSE_SPMV_COO_ALG1 = 1, MUSPARSE_SPMV_CSR_ALG1 = 2, MUSPARSE_SPMV_CSR_ALG2 = 3 };
enum musparseSpMMAlg_t { MUSPARSE_SPMM_ALG_DEFAULT = 0, MUSPARSE_SPMM_COO_ALG1 = 1, MUSPARSE_SPMM_CSR_ALG1 = 4, MUSPARSE_SPMM_CSR_ALG2 = 6 };

extern "C" {

MUSPARSEAPI musparseStatus_t musparseCreate(musparseHandle_t* handle);
MUSPARSEAPI musparseStatus_t musparseDestroy(musparseHandle_t handle);
MUSPARSEAPI musparseStatus_t musparseSetStream(musparseHandle_t handle, musaStream_t stream);
MUSPARSEAPI musparseStatus_t musparseSetPointerMode(musparseHandle_t handle, musparsePointerMode_t mode);
MUSPARSEAPI const char* musparseGetErrorString(musparseStatus_t status);

MUSPARSEAPI musparseStatus_t musparseCreateCsr(musparseSpMatDescr_t* matrix, long long rows, long long columns, long long nnz,
                                               void* offsets, void* indices, void* values, musparseIndexType_t offset_type,
                                               musparseIndexType_t index_type, musparseIndexBase_t base, musaDataType type);
MUSPARSEAPI musparseStatus_t musparseCreateCoo(musparseSpMatDescr_t* matrix, long long rows, long long columns, long long nnz,
                                               void* row_indices, void* column_indices, void* values,
                                               musparseIndexType_t index_type, musparseIndexBase_t base, musaDataType type);
MUSPARSEAPI musparseStatus_t musparseDestroySpMat(musparseSpMatDescr_t matrix);
MUSPARSEAPI musparseStatus_t musparseCreateDnMat(musparseDnMatDescr_t* matrix, long long rows, long long columns, long long ld,
                                                 void* values, musaDataType type, musparseOrder_t order);
MUSPARSEAPI musparseStatus_t musparseDestroyDnMat(musparseDnMatDescr_t matrix);
MUSPARSEAPI musparseStatus_t musparseCreateDnVec(musparseDnVecDescr_t* vector, long long size, void* values, musaDataType type);
MUSPARSEAPI musparseStatus_t musparseDestroyDnVec(musparseDnVecDescr_t vector);

MUSPARSEAPI musparseStatus_t musparseSpMV_bufferSize(musparseHandle_t, musparseOperation_t op, const void* alpha,
                                                     musparseSpMatDescr_t a, musparseDnVecDescr_t x, const void* beta,
                                                     musparseDnVecDescr_t y, musaDataType compute, musparseSpMVAlg_t,
                                                     size_t* bytes);
MUSPARSEAPI musparseStatus_t musparseSpMV(musparseHandle_t, musparseOperation_t op, const void* alpha, musparseSpMatDescr_t a,
                                          musparseDnVecDescr_t x, const void* beta, musparseDnVecDescr_t y,
                                          musaDataType compute, musparseSpMVAlg_t, void* buffer);
MUSPARSEAPI musparseStatus_t musparseSpMM_bufferSize(musparseHandle_t, musparseOperation_t opa, musparseOperation_t opb,
                                                     const void* alpha, musparseSpMatDescr_t a, musparseDnMatDescr_t b,
                                                     const void* beta, musparseDnMatDescr_t c, musaDataType compute,
                                                     musparseSpMMAlg_t, size_t* bytes);
MUSPARSEAPI musparseStatus_t musparseSpMM(musparseHandle_t, musparseOperation_t opa, musparseOperation_t opb,
                                          const void* alpha, musparseSpMatDescr_t a, musparseDnMatDescr_t b, const void* beta,
                                          musparseDnMatDescr_t c, musaDataType compute, musparseSpMMAlg_t, void* buffer);
MUSPARSEAPI musparseStatus_t musparseXcoo2csr(musparseHandle_t, const int* row_indices, int nnz, int rows, int* offsets,
                                              musparseIndexBase_t base);
MUSPARSEAPI musparseStatus_t musparseXcsr2coo(musparseHandle_t, const int* offsets, int nnz, int rows, int* row_indices,
                                              musparseIndexBase_t base);
}
