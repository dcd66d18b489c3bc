// The host API of muSPARSE, as far as extensions call it: products of sparse matrices (CSR, COO) with vectors and dense matrices,
// and of the older functions, whose matrices are arrays with a description, those that PyTorch's headers name.
#pragma once

#include <stdint.h>

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

struct musparseSpVecDescr;
typedef struct musparseSpVecDescr* musparseSpVecDescr_t;
struct musparseSpSVDescr;
typedef struct musparseSpSVDescr* musparseSpSVDescr_t;
struct musparseSpSMDescr;
typedef struct musparseSpSMDescr* musparseSpSMDescr_t;
struct musparseSpGEMMDescr;
typedef struct musparseSpGEMMDescr* musparseSpGEMMDescr_t;

struct musparseMatDescr;
typedef struct musparseMatDescr* musparseMatDescr_t;
struct bsrsv2Info;
typedef struct bsrsv2Info* bsrsv2Info_t;
struct bsrsm2Info;
typedef struct bsrsm2Info* bsrsm2Info_t;

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
enum musparseMatrixType_t {
  MUSPARSE_MATRIX_TYPE_GENERAL = 0,
  MUSPARSE_MATRIX_TYPE_SYMMETRIC = 1,
  MUSPARSE_MATRIX_TYPE_HERMITIAN = 2,
  MUSPARSE_MATRIX_TYPE_TRIANGULAR = 3
};
enum musparseFillMode_t { MUSPARSE_FILL_MODE_LOWER = 0, MUSPARSE_FILL_MODE_UPPER = 1 };
enum musparseDiagType_t { MUSPARSE_DIAG_TYPE_NON_UNIT = 0, MUSPARSE_DIAG_TYPE_UNIT = 1 };
enum musparseDirection_t { MUSPARSE_DIRECTION_ROW = 0, MUSPARSE_DIRECTION_COLUMN = 1 };
enum musparseSolvePolicy_t { MUSPARSE_SOLVE_POLICY_NO_LEVEL = 0, MUSPARSE_SOLVE_POLICY_USE_LEVEL = 1 };
enum musparsePointerMode_t { MUSPARSE_POINTER_MODE_HOST = 0, MUSPARSE_POINTER_MODE_DEVICE = 1 };
enum musparseSpMVAlg_t { MUSPARSE_SPMV_ALG_DEFAULT = 0, MUSPARSE_SPMV_COO_ALG1 = 1, MUSPARSE_SPMV_CSR_ALG1 = 2, MUSPARSE_SPMV_CSR_ALG2 = 3 };
enum musparseSpMMAlg_t { MUSPARSE_SPMM_ALG_DEFAULT = 0, MUSPARSE_SPMM_COO_ALG1 = 1, MUSPARSE_SPMM_CSR_ALG1 = 4, MUSPARSE_SPMM_CSR_ALG2 = 6 };
enum musparseSpGEMMAlg_t { MUSPARSE_SPGEMM_DEFAULT = 0 };
enum musparseSpSVAlg_t { MUSPARSE_SPSV_ALG_DEFAULT = 0 };
enum musparseSpSMAlg_t { MUSPARSE_SPSM_ALG_DEFAULT = 0 };
enum musparseSDDMMAlg_t { MUSPARSE_SDDMM_ALG_DEFAULT = 0 };
enum musparseDenseToSparseAlg_t { MUSPARSE_DENSETOSPARSE_ALG_DEFAULT = 0 };
enum musparseSparseToDenseAlg_t { MUSPARSE_SPARSETODENSE_ALG_DEFAULT = 0 };
enum musparseCsr2CscAlg_t { MUSPARSE_CSR2CSC_ALG1 = 1, MUSPARSE_CSR2CSC_ALG2 = 2 };
enum musparseAction_t { MUSPARSE_ACTION_SYMBOLIC = 0, MUSPARSE_ACTION_NUMERIC = 1 };
enum musparseSpMatAttribute_t { MUSPARSE_SPMAT_FILL_MODE = 0, MUSPARSE_SPMAT_DIAG_TYPE = 1 };

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

// Sparse vectors, and what is between them and dense ones.
MUSPARSEAPI musparseStatus_t musparseCreateSpVec(musparseSpVecDescr_t* vector, int64_t size, int64_t nnz, void* indices, void* values,
                                                 musparseIndexType_t index_type, musparseIndexBase_t base, musaDataType type);
MUSPARSEAPI musparseStatus_t musparseDestroySpVec(musparseSpVecDescr_t vector);
MUSPARSEAPI musparseStatus_t musparseAxpby(musparseHandle_t, const void* alpha, musparseSpVecDescr_t x, const void* beta,
                                           musparseDnVecDescr_t y);
MUSPARSEAPI musparseStatus_t musparseGather(musparseHandle_t, musparseDnVecDescr_t y, musparseSpVecDescr_t x);
MUSPARSEAPI musparseStatus_t musparseScatter(musparseHandle_t, musparseSpVecDescr_t x, musparseDnVecDescr_t y);

MUSPARSEAPI musparseStatus_t musparseSpMatGetSize(musparseSpMatDescr_t matrix, int64_t* rows, int64_t* columns, int64_t* nnz);
MUSPARSEAPI musparseStatus_t musparseCsrSetPointers(musparseSpMatDescr_t matrix, void* offsets, void* indices, void* values);
MUSPARSEAPI musparseStatus_t musparseSpMatSetAttribute(musparseSpMatDescr_t matrix, musparseSpMatAttribute_t, void* data, size_t bytes);
MUSPARSEAPI musparseStatus_t musparseSpMatGetAttribute(musparseSpMatDescr_t matrix, musparseSpMatAttribute_t, void* data, size_t bytes);

// Conversions. An analysis counts: after it, musparseSpMatGetSize says how many values the matrix has to have room for.
MUSPARSEAPI musparseStatus_t musparseDenseToSparse_bufferSize(musparseHandle_t, musparseDnMatDescr_t from, musparseSpMatDescr_t to,
                                                              musparseDenseToSparseAlg_t, size_t* bytes);
MUSPARSEAPI musparseStatus_t musparseDenseToSparse_analysis(musparseHandle_t, musparseDnMatDescr_t from, musparseSpMatDescr_t to,
                                                            musparseDenseToSparseAlg_t, void* buffer);
MUSPARSEAPI musparseStatus_t musparseDenseToSparse_convert(musparseHandle_t, musparseDnMatDescr_t from, musparseSpMatDescr_t to,
                                                           musparseDenseToSparseAlg_t, void* buffer);
MUSPARSEAPI musparseStatus_t musparseSparseToDense_bufferSize(musparseHandle_t, musparseSpMatDescr_t from, musparseDnMatDescr_t to,
                                                              musparseSparseToDenseAlg_t, size_t* bytes);
MUSPARSEAPI musparseStatus_t musparseSparseToDense(musparseHandle_t, musparseSpMatDescr_t from, musparseDnMatDescr_t to,
                                                   musparseSparseToDenseAlg_t, void* buffer);
MUSPARSEAPI musparseStatus_t musparseCsr2cscEx2_bufferSize(musparseHandle_t, int rows, int columns, int nnz, const void* values,
                                                           const int* offsets, const int* indices, void* out_values,
                                                           int* out_offsets, int* out_indices, musaDataType type,
                                                           musparseAction_t, musparseIndexBase_t base, musparseCsr2CscAlg_t,
                                                           size_t* bytes);
MUSPARSEAPI musparseStatus_t musparseCsr2cscEx2(musparseHandle_t, int rows, int columns, int nnz, const void* values,
                                                const int* offsets, const int* indices, void* out_values, int* out_offsets,
                                                int* out_indices, musaDataType type, musparseAction_t action,
                                                musparseIndexBase_t base, musparseCsr2CscAlg_t, void* buffer);
MUSPARSEAPI musparseStatus_t musparseCreateIdentityPermutation(musparseHandle_t, int n, int* permutation);
MUSPARSEAPI musparseStatus_t musparseXcsrsort_bufferSizeExt(musparseHandle_t, int rows, int columns, int nnz, const int* offsets,
                                                            const int* indices, size_t* bytes);
MUSPARSEAPI musparseStatus_t musparseXcsrsort(musparseHandle_t, int rows, int columns, int nnz, const musparseMatDescr_t a,
                                              const int* offsets, int* indices, int* permutation, void* buffer);

// C = alpha (op(A) op(B)) at the places of C + beta C.
MUSPARSEAPI musparseStatus_t musparseSDDMM_bufferSize(musparseHandle_t, musparseOperation_t opa, musparseOperation_t opb,
                                                      const void* alpha, musparseDnMatDescr_t a, musparseDnMatDescr_t b,
                                                      const void* beta, musparseSpMatDescr_t c, musaDataType compute,
                                                      musparseSDDMMAlg_t, size_t* bytes);
MUSPARSEAPI musparseStatus_t musparseSDDMM_preprocess(musparseHandle_t, musparseOperation_t opa, musparseOperation_t opb,
                                                      const void* alpha, musparseDnMatDescr_t a, musparseDnMatDescr_t b,
                                                      const void* beta, musparseSpMatDescr_t c, musaDataType compute,
                                                      musparseSDDMMAlg_t, void* buffer);
MUSPARSEAPI musparseStatus_t musparseSDDMM(musparseHandle_t, musparseOperation_t opa, musparseOperation_t opb, const void* alpha,
                                           musparseDnMatDescr_t a, musparseDnMatDescr_t b, const void* beta,
                                           musparseSpMatDescr_t c, musaDataType compute, musparseSDDMMAlg_t, void* buffer);

// op(A) y = alpha x and op(A) C = alpha op(B), with the triangle of A that its attributes name.
MUSPARSEAPI musparseStatus_t musparseSpSV_createDescr(musparseSpSVDescr_t* made);
MUSPARSEAPI musparseStatus_t musparseSpSV_destroyDescr(musparseSpSVDescr_t);
MUSPARSEAPI musparseStatus_t musparseSpSV_bufferSize(musparseHandle_t, musparseOperation_t op, const void* alpha,
                                                     musparseSpMatDescr_t a, musparseDnVecDescr_t x, musparseDnVecDescr_t y,
                                                     musaDataType compute, musparseSpSVAlg_t, musparseSpSVDescr_t, size_t* bytes);
MUSPARSEAPI musparseStatus_t musparseSpSV_analysis(musparseHandle_t, musparseOperation_t op, const void* alpha,
                                                   musparseSpMatDescr_t a, musparseDnVecDescr_t x, musparseDnVecDescr_t y,
                                                   musaDataType compute, musparseSpSVAlg_t, musparseSpSVDescr_t, void* buffer);
MUSPARSEAPI musparseStatus_t musparseSpSV_solve(musparseHandle_t, musparseOperation_t op, const void* alpha, musparseSpMatDescr_t a,
                                                musparseDnVecDescr_t x, musparseDnVecDescr_t y, musaDataType compute,
                                                musparseSpSVAlg_t, musparseSpSVDescr_t);
MUSPARSEAPI musparseStatus_t musparseSpSM_createDescr(musparseSpSMDescr_t* made);
MUSPARSEAPI musparseStatus_t musparseSpSM_destroyDescr(musparseSpSMDescr_t);
MUSPARSEAPI musparseStatus_t musparseSpSM_bufferSize(musparseHandle_t, musparseOperation_t opa, musparseOperation_t opb,
                                                     const void* alpha, musparseSpMatDescr_t a, musparseDnMatDescr_t b,
                                                     musparseDnMatDescr_t c, musaDataType compute, musparseSpSMAlg_t,
                                                     musparseSpSMDescr_t, size_t* bytes);
MUSPARSEAPI musparseStatus_t musparseSpSM_analysis(musparseHandle_t, musparseOperation_t opa, musparseOperation_t opb,
                                                   const void* alpha, musparseSpMatDescr_t a, musparseDnMatDescr_t b,
                                                   musparseDnMatDescr_t c, musaDataType compute, musparseSpSMAlg_t,
                                                   musparseSpSMDescr_t, void* buffer);
MUSPARSEAPI musparseStatus_t musparseSpSM_solve(musparseHandle_t, musparseOperation_t opa, musparseOperation_t opb,
                                                const void* alpha, musparseSpMatDescr_t a, musparseDnMatDescr_t b,
                                                musparseDnMatDescr_t c, musaDataType compute, musparseSpSMAlg_t,
                                                musparseSpSMDescr_t);

// C = alpha A B of CSR matrices (beta has to be 0). After `compute`, musparseSpMatGetSize says how large C is; `copy` writes it.
MUSPARSEAPI musparseStatus_t musparseSpGEMM_createDescr(musparseSpGEMMDescr_t* made);
MUSPARSEAPI musparseStatus_t musparseSpGEMM_destroyDescr(musparseSpGEMMDescr_t);
MUSPARSEAPI musparseStatus_t musparseSpGEMM_workEstimation(musparseHandle_t, musparseOperation_t opa, musparseOperation_t opb,
                                                           const void* alpha, musparseSpMatDescr_t a, musparseSpMatDescr_t b,
                                                           const void* beta, musparseSpMatDescr_t c, musaDataType compute,
                                                           musparseSpGEMMAlg_t, musparseSpGEMMDescr_t, size_t* bytes, void* buffer);
MUSPARSEAPI musparseStatus_t musparseSpGEMM_compute(musparseHandle_t, musparseOperation_t opa, musparseOperation_t opb,
                                                    const void* alpha, musparseSpMatDescr_t a, musparseSpMatDescr_t b,
                                                    const void* beta, musparseSpMatDescr_t c, musaDataType compute,
                                                    musparseSpGEMMAlg_t, musparseSpGEMMDescr_t, size_t* bytes, void* buffer);
MUSPARSEAPI musparseStatus_t musparseSpGEMM_copy(musparseHandle_t, musparseOperation_t opa, musparseOperation_t opb,
                                                 const void* alpha, musparseSpMatDescr_t a, musparseSpMatDescr_t b,
                                                 const void* beta, musparseSpMatDescr_t c, musaDataType compute,
                                                 musparseSpGEMMAlg_t, musparseSpGEMMDescr_t);

MUSPARSEAPI musparseStatus_t musparseCreateMatDescr(musparseMatDescr_t* matrix);
MUSPARSEAPI musparseStatus_t musparseDestroyMatDescr(musparseMatDescr_t matrix);
MUSPARSEAPI musparseStatus_t musparseSetMatType(musparseMatDescr_t matrix, musparseMatrixType_t type);
MUSPARSEAPI musparseMatrixType_t musparseGetMatType(const musparseMatDescr_t matrix);
MUSPARSEAPI musparseStatus_t musparseSetMatFillMode(musparseMatDescr_t matrix, musparseFillMode_t mode);
MUSPARSEAPI musparseFillMode_t musparseGetMatFillMode(const musparseMatDescr_t matrix);
MUSPARSEAPI musparseStatus_t musparseSetMatDiagType(musparseMatDescr_t matrix, musparseDiagType_t type);
MUSPARSEAPI musparseDiagType_t musparseGetMatDiagType(const musparseMatDescr_t matrix);
MUSPARSEAPI musparseStatus_t musparseSetMatIndexBase(musparseMatDescr_t matrix, musparseIndexBase_t base);
MUSPARSEAPI musparseIndexBase_t musparseGetMatIndexBase(const musparseMatDescr_t matrix);
MUSPARSEAPI musparseStatus_t musparseCreateBsrsv2Info(bsrsv2Info_t* info);
MUSPARSEAPI musparseStatus_t musparseDestroyBsrsv2Info(bsrsv2Info_t info);
MUSPARSEAPI musparseStatus_t musparseXbsrsv2_zeroPivot(musparseHandle_t, bsrsv2Info_t info, int* position);
MUSPARSEAPI musparseStatus_t musparseCreateBsrsm2Info(bsrsm2Info_t* info);
MUSPARSEAPI musparseStatus_t musparseDestroyBsrsm2Info(bsrsm2Info_t info);
MUSPARSEAPI musparseStatus_t musparseXbsrsm2_zeroPivot(musparseHandle_t, bsrsm2Info_t info, int* position);

// The number of columns in each row of A + B, where either of them has one, as offsets, and their sum.
MUSPARSEAPI musparseStatus_t musparseXcsrgeam2Nnz(musparseHandle_t, int rows, int columns, const musparseMatDescr_t a, int a_nnz,
                                                  const int* a_offsets, const int* a_columns, const musparseMatDescr_t b, int b_nnz,
                                                  const int* b_offsets, const int* b_columns, const musparseMatDescr_t c, int* c_offsets,
                                                  int* nnz, void* buffer);

// C = alpha A + beta B, all of CSR; y = alpha A x + beta y and C = alpha A op(B) + beta C with A of blocks; op(A) y = alpha x and
// op(A) op(X) = alpha op(B) with a triangle of A of blocks; the numbers other than zero in each row or column of a dense matrix.
#define MUSPARSE_DESCRIBED(letter, T)                                                                                              \
  MUSPARSEAPI musparseStatus_t musparse##letter##csrgeam2_bufferSizeExt(                                                           \
      musparseHandle_t, int rows, int columns, const T* alpha, const musparseMatDescr_t a, int a_nnz, const T* a_values,           \
      const int* a_offsets, const int* a_columns, const T* beta, const musparseMatDescr_t b, int b_nnz, const T* b_values,         \
      const int* b_offsets, const int* b_columns, const musparseMatDescr_t c, const T* c_values, const int* c_offsets,             \
      const int* c_columns, size_t* bytes);                                                                                        \
  MUSPARSEAPI musparseStatus_t musparse##letter##csrgeam2(                                                                         \
      musparseHandle_t, int rows, int columns, const T* alpha, const musparseMatDescr_t a, int a_nnz, const T* a_values,           \
      const int* a_offsets, const int* a_columns, const T* beta, const musparseMatDescr_t b, int b_nnz, const T* b_values,         \
      const int* b_offsets, const int* b_columns, const musparseMatDescr_t c, T* c_values, int* c_offsets, int* c_columns,         \
      void* buffer);                                                                                                               \
  MUSPARSEAPI musparseStatus_t musparse##letter##bsrmv(                                                                            \
      musparseHandle_t, musparseDirection_t direction, musparseOperation_t op, int rows, int columns, int nnz, const T* alpha,     \
      const musparseMatDescr_t a, const T* values, const int* offsets, const int* indices, int block, const T* x, const T* beta,   \
      T* y);                                                                                                                       \
  MUSPARSEAPI musparseStatus_t musparse##letter##bsrmm(                                                                            \
      musparseHandle_t, musparseDirection_t direction, musparseOperation_t opa, musparseOperation_t opb, int rows, int n,          \
      int columns, int nnz, const T* alpha, const musparseMatDescr_t a, const T* values, const int* offsets, const int* indices,   \
      int block, const T* b, int ldb, const T* beta, T* c, int ldc);                                                               \
  MUSPARSEAPI musparseStatus_t musparse##letter##bsrsv2_bufferSize(                                                                \
      musparseHandle_t, musparseDirection_t direction, musparseOperation_t op, int rows, int nnz, const musparseMatDescr_t a,      \
      T* values, const int* offsets, const int* indices, int block, bsrsv2Info_t info, int* bytes);                                \
  MUSPARSEAPI musparseStatus_t musparse##letter##bsrsv2_analysis(                                                                  \
      musparseHandle_t, musparseDirection_t direction, musparseOperation_t op, int rows, int nnz, const musparseMatDescr_t a,      \
      const T* values, const int* offsets, const int* indices, int block, bsrsv2Info_t info, musparseSolvePolicy_t, void* buffer); \
  MUSPARSEAPI musparseStatus_t musparse##letter##bsrsv2_solve(                                                                     \
      musparseHandle_t, musparseDirection_t direction, musparseOperation_t op, int rows, int nnz, const T* alpha,                  \
      const musparseMatDescr_t a, const T* values, const int* offsets, const int* indices, int block, bsrsv2Info_t info,           \
      const T* x, T* y, musparseSolvePolicy_t, void* buffer);                                                                      \
  MUSPARSEAPI musparseStatus_t musparse##letter##bsrsm2_bufferSize(                                                                \
      musparseHandle_t, musparseDirection_t direction, musparseOperation_t opa, musparseOperation_t opx, int rows, int n, int nnz, \
      const musparseMatDescr_t a, T* values, const int* offsets, const int* indices, int block, bsrsm2Info_t info, int* bytes);    \
  MUSPARSEAPI musparseStatus_t musparse##letter##bsrsm2_analysis(                                                                  \
      musparseHandle_t, musparseDirection_t direction, musparseOperation_t opa, musparseOperation_t opx, int rows, int n, int nnz, \
      const musparseMatDescr_t a, const T* values, const int* offsets, const int* indices, int block, bsrsm2Info_t info,           \
      musparseSolvePolicy_t, void* buffer);                                                                                        \
  MUSPARSEAPI musparseStatus_t musparse##letter##bsrsm2_solve(                                                                     \
      musparseHandle_t, musparseDirection_t direction, musparseOperation_t opa, musparseOperation_t opx, int rows, int n, int nnz, \
      const T* alpha, const musparseMatDescr_t a, const T* values, const int* offsets, const int* indices, int block,              \
      bsrsm2Info_t info, const T* b, int ldb, T* x, int ldx, musparseSolvePolicy_t, void* buffer);                                 \
  MUSPARSEAPI musparseStatus_t musparse##letter##nnz(musparseHandle_t, musparseDirection_t direction, int rows, int columns,       \
                                                     const musparseMatDescr_t a, const T* values, int ld, int* counts, int* total);

MUSPARSE_DESCRIBED(S, float)
MUSPARSE_DESCRIBED(D, double)
MUSPARSE_DESCRIBED(C, muComplex)
MUSPARSE_DESCRIBED(Z, muDoubleComplex)

#undef MUSPARSE_DESCRIBED
}
