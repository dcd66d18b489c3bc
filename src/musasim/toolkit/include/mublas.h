// The host API of muBLAS, as far as extensions call it. Matrices are stored by columns. libmublas.so computes by the BLAS of PyTorch's
// own libtorch_cpu.so.
#pragma once

#include "internal/mublas_types.h"

// Named by the vendor's table of names. The numbers are ours: muBLAS counts otherwise than cuBLAS, and ported sources do not compare them.
#define MUBLAS_VER_MAJOR 1
#define MUBLAS_VER_MINOR 0
#define MUBLAS_VER_PATCH 0
#define MUBLAS_VERSION (MUBLAS_VER_MAJOR * 10000 + MUBLAS_VER_MINOR * 100 + MUBLAS_VER_PATCH)

#define MUBLASAPI __attribute__((visibility("default")))

extern "C" {

MUBLASAPI mublasStatus_t mublasCreate(mublasHandle_t* handle);
MUBLASAPI mublasStatus_t mublasDestroy(mublasHandle_t handle);
MUBLASAPI mublasStatus_t mublasGetVersion(mublasHandle_t handle, int* version);
MUBLASAPI const char* mublasGetStatusString(mublasStatus_t status);
MUBLASAPI const char* mublasGetStatusName(mublasStatus_t status);
MUBLASAPI mublasStatus_t mublasSetStream(mublasHandle_t handle, musaStream_t stream);
MUBLASAPI mublasStatus_t mublasGetStream(mublasHandle_t handle, musaStream_t* stream);
MUBLASAPI mublasStatus_t mublasSetPointerMode(mublasHandle_t handle, mublasPointerMode_t mode);
MUBLASAPI mublasStatus_t mublasGetPointerMode(mublasHandle_t handle, mublasPointerMode_t* mode);
MUBLASAPI mublasStatus_t mublasSetAtomicsMode(mublasHandle_t handle, mublasAtomicsMode_t mode);
MUBLASAPI mublasStatus_t mublasGetAtomicsMode(mublasHandle_t handle, mublasAtomicsMode_t* mode);
MUBLASAPI mublasStatus_t mublasSetMathMode(mublasHandle_t handle, mublasMath_t mode);
MUBLASAPI mublasStatus_t mublasGetMathMode(mublasHandle_t handle, mublasMath_t* mode);
MUBLASAPI mublasStatus_t mublasSetWorkspace(mublasHandle_t handle, void* workspace, size_t bytes);

MUBLASAPI mublasStatus_t mublasSetVector(int n, int size, const void* from, int from_step, void* to, int to_step);
MUBLASAPI mublasStatus_t mublasGetVector(int n, int size, const void* from, int from_step, void* to, int to_step);
MUBLASAPI mublasStatus_t mublasSetMatrix(int m, int n, int size, const void* a, int lda, void* b, int ldb);
MUBLASAPI mublasStatus_t mublasGetMatrix(int m, int n, int size, const void* a, int lda, void* b, int ldb);

// Vectors: y = alpha x + y; x = alpha x; copies; exchanges; matrices times vectors; outer products.
#define MUSASIM_BLAS(X, T)                                                                                                  \
  MUBLASAPI mublasStatus_t mublas##X##axpy(mublasHandle_t, int n, const T* alpha, const T* x, int incx, T* y, int incy);    \
  MUBLASAPI mublasStatus_t mublas##X##scal(mublasHandle_t, int n, const T* alpha, T* x, int incx);                          \
  MUBLASAPI mublasStatus_t mublas##X##copy(mublasHandle_t, int n, const T* x, int incx, T* y, int incy);                    \
  MUBLASAPI mublasStatus_t mublas##X##swap(mublasHandle_t, int n, T* x, int incx, T* y, int incy);                          \
  MUBLASAPI mublasStatus_t mublas##X##gemv(mublasHandle_t, mublasOperation_t trans, int m, int n, const T* alpha,           \
                                           const T* a, int lda, const T* x, int incx, const T* beta, T* y, int incy);       \
  MUBLASAPI mublasStatus_t mublas##X##gemm(mublasHandle_t, mublasOperation_t transa, mublasOperation_t transb, int m,       \
                                           int n, int k, const T* alpha, const T* a, int lda, const T* b, int ldb,          \
                                           const T* beta, T* c, int ldc);                                                   \
  MUBLASAPI mublasStatus_t mublas##X##gemmBatched(mublasHandle_t, mublasOperation_t transa, mublasOperation_t transb,       \
                                                  int m, int n, int k, const T* alpha, const T* const a[], int lda,         \
                                                  const T* const b[], int ldb, const T* beta, T* const c[], int ldc,        \
                                                  int batch);                                                               \
  MUBLASAPI mublasStatus_t mublas##X##gemmStridedBatched(mublasHandle_t, mublasOperation_t transa,                          \
                                                         mublasOperation_t transb, int m, int n, int k, const T* alpha,     \
                                                         const T* a, int lda, long long stridea, const T* b, int ldb,       \
                                                         long long strideb, const T* beta, T* c, int ldc,                   \
                                                         long long stridec, int batch);                                     \
  MUBLASAPI mublasStatus_t mublas##X##trsm(mublasHandle_t, mublasSideMode_t side, mublasFillMode_t uplo,                    \
                                           mublasOperation_t trans, mublasDiagType_t diag, int m, int n, const T* alpha,    \
                                           const T* a, int lda, T* b, int ldb);                                             \
  MUBLASAPI mublasStatus_t mublas##X##trsmBatched(mublasHandle_t, mublasSideMode_t side, mublasFillMode_t uplo,             \
                                                  mublasOperation_t trans, mublasDiagType_t diag, int m, int n,             \
                                                  const T* alpha, const T* const a[], int lda, T* const b[], int ldb,       \
                                                  int batch);                                                               \
  MUBLASAPI mublasStatus_t mublas##X##syrk(mublasHandle_t, mublasFillMode_t uplo, mublasOperation_t trans, int n, int k,    \
                                           const T* alpha, const T* a, int lda, const T* beta, T* c, int ldc);              \
  MUBLASAPI mublasStatus_t mublas##X##geam(mublasHandle_t, mublasOperation_t transa, mublasOperation_t transb, int m,       \
                                           int n, const T* alpha, const T* a, int lda, const T* beta, const T* b,           \
                                           int ldb, T* c, int ldc);                                                         \
  MUBLASAPI mublasStatus_t mublas##X##dgmm(mublasHandle_t, mublasSideMode_t side, int m, int n, const T* a, int lda,        \
                                           const T* x, int incx, T* c, int ldc);
MUSASIM_BLAS(S, float)
MUSASIM_BLAS(D, double)
MUSASIM_BLAS(C, muComplex)
MUSASIM_BLAS(Z, muDoubleComplex)
#undef MUSASIM_BLAS

// Sums and norms; the index of the largest and the smallest element counts from 1.
#define MUSASIM_BLAS(X, T, R, NAME)                                                                                         \
  MUBLASAPI mublasStatus_t mublas##NAME##nrm2(mublasHandle_t, int n, const T* x, int incx, R* result);                      \
  MUBLASAPI mublasStatus_t mublas##NAME##asum(mublasHandle_t, int n, const T* x, int incx, R* result);                      \
  MUBLASAPI mublasStatus_t mublasI##X##amax(mublasHandle_t, int n, const T* x, int incx, int* result);                      \
  MUBLASAPI mublasStatus_t mublasI##X##amin(mublasHandle_t, int n, const T* x, int incx, int* result);
MUSASIM_BLAS(s, float, float, S)
MUSASIM_BLAS(d, double, double, D)
MUSASIM_BLAS(c, muComplex, float, Sc)
MUSASIM_BLAS(z, muDoubleComplex, double, Dz)
#undef MUSASIM_BLAS

#define MUSASIM_BLAS(NAME, T) \
  MUBLASAPI mublasStatus_t mublas##NAME(mublasHandle_t, int n, const T* x, int incx, const T* y, int incy, T* result);
MUSASIM_BLAS(Sdot, float)
MUSASIM_BLAS(Ddot, double)
MUSASIM_BLAS(Cdotu, muComplex)
MUSASIM_BLAS(Cdotc, muComplex)
MUSASIM_BLAS(Zdotu, muDoubleComplex)
MUSASIM_BLAS(Zdotc, muDoubleComplex)
#undef MUSASIM_BLAS

#define MUSASIM_BLAS(NAME, T)                                                                                               \
  MUBLASAPI mublasStatus_t mublas##NAME(mublasHandle_t, int m, int n, const T* alpha, const T* x, int incx, const T* y,     \
                                        int incy, T* a, int lda);
MUSASIM_BLAS(Sger, float)
MUSASIM_BLAS(Dger, double)
MUSASIM_BLAS(Cgeru, muComplex)
MUSASIM_BLAS(Cgerc, muComplex)
MUSASIM_BLAS(Zgeru, muDoubleComplex)
MUSASIM_BLAS(Zgerc, muDoubleComplex)
#undef MUSASIM_BLAS

// Products of other types: half, bfloat16, float, double and complex numbers, and 8-bit integers into 32-bit ones. Sums are of
// `compute`, or of something more exact.
MUBLASAPI mublasStatus_t mublasGemmEx(mublasHandle_t, mublasOperation_t transa, mublasOperation_t transb, int m, int n, int k,
                                      const void* alpha, const void* a, musaDataType_t atype, int lda, const void* b,
                                      musaDataType_t btype, int ldb, const void* beta, void* c, musaDataType_t ctype, int ldc,
                                      musaDataType_t compute, mublasGemmAlgo_t algo);
MUBLASAPI mublasStatus_t mublasGemmBatchedEx(mublasHandle_t, mublasOperation_t transa, mublasOperation_t transb, int m, int n,
                                             int k, const void* alpha, const void* const a[], musaDataType_t atype, int lda,
                                             const void* const b[], musaDataType_t btype, int ldb, const void* beta,
                                             void* const c[], musaDataType_t ctype, int ldc, int batch,
                                             musaDataType_t compute, mublasGemmAlgo_t algo);
MUBLASAPI mublasStatus_t mublasGemmStridedBatchedEx(mublasHandle_t, mublasOperation_t transa, mublasOperation_t transb, int m,
                                                    int n, int k, const void* alpha, const void* a, musaDataType_t atype,
                                                    int lda, long long stridea, const void* b, musaDataType_t btype, int ldb,
                                                    long long strideb, const void* beta, void* c, musaDataType_t ctype,
                                                    int ldc, long long stridec, int batch, musaDataType_t compute,
                                                    mublasGemmAlgo_t algo);
MUBLASAPI mublasStatus_t mublasSgemmEx(mublasHandle_t, mublasOperation_t transa, mublasOperation_t transb, int m, int n, int k,
                                       const float* alpha, const void* a, musaDataType_t atype, int lda, const void* b,
                                       musaDataType_t btype, int ldb, const float* beta, void* c, musaDataType_t ctype,
                                       int ldc);
MUBLASAPI mublasStatus_t mublasHgemm(mublasHandle_t, mublasOperation_t transa, mublasOperation_t transb, int m, int n, int k,
                                     const __half* alpha, const __half* a, int lda, const __half* b, int ldb,
                                     const __half* beta, __half* c, int ldc);
MUBLASAPI mublasStatus_t mublasHgemmBatched(mublasHandle_t, mublasOperation_t transa, mublasOperation_t transb, int m, int n,
                                            int k, const __half* alpha, const __half* const a[], int lda,
                                            const __half* const b[], int ldb, const __half* beta, __half* const c[], int ldc,
                                            int batch);
MUBLASAPI mublasStatus_t mublasHgemmStridedBatched(mublasHandle_t, mublasOperation_t transa, mublasOperation_t transb, int m,
                                                   int n, int k, const __half* alpha, const __half* a, int lda,
                                                   long long stridea, const __half* b, int ldb, long long strideb,
                                                   const __half* beta, __half* c, int ldc, long long stridec, int batch);

// Sums, norms and products by a factor of other types: half, bfloat16, float and double, computed in double.
MUBLASAPI mublasStatus_t mublasDotEx(mublasHandle_t, int n, const void* x, musaDataType_t xtype, int incx, const void* y,
                                     musaDataType_t ytype, int incy, void* result, musaDataType_t type, musaDataType_t compute);
MUBLASAPI mublasStatus_t mublasDotcEx(mublasHandle_t, int n, const void* x, musaDataType_t xtype, int incx, const void* y,
                                      musaDataType_t ytype, int incy, void* result, musaDataType_t type, musaDataType_t compute);
MUBLASAPI mublasStatus_t mublasNrm2Ex(mublasHandle_t, int n, const void* x, musaDataType_t xtype, int incx, void* result,
                                      musaDataType_t type, musaDataType_t compute);
MUBLASAPI mublasStatus_t mublasAxpyEx(mublasHandle_t, int n, const void* alpha, musaDataType_t alphatype, const void* x,
                                      musaDataType_t xtype, int incx, void* y, musaDataType_t ytype, int incy,
                                      musaDataType_t compute);
MUBLASAPI mublasStatus_t mublasScalEx(mublasHandle_t, int n, const void* alpha, musaDataType_t alphatype, void* x,
                                      musaDataType_t xtype, int incx, musaDataType_t compute);

// LU factorizations of many matrices, each in its place; without an array of pivots, rows are not exchanged.
#define MUSASIM_BLAS(X, T)                                                                                                  \
  MUBLASAPI mublasStatus_t mublas##X##getrfBatched(mublasHandle_t, int n, T* const a[], int lda, int* pivots, int* info,    \
                                                   int batch);
MUSASIM_BLAS(S, float)
MUSASIM_BLAS(D, double)
MUSASIM_BLAS(C, muComplex)
MUSASIM_BLAS(Z, muDoubleComplex)
#undef MUSASIM_BLAS
}
