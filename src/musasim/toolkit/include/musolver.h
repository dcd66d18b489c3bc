// The host API of muSOLVER for dense matrices, as far as torch_musa and extensions call it. Handles are muBLAS's.
#pragma once

#include "mublas.h"

#define MUSOLVERAPI __attribute__((visibility("default")))

typedef mublasHandle_t musolverDnHandle_t;
typedef mublasHandle_t musolverHandle_t;

enum musolverStatus_t {
  MUSOLVER_STATUS_SUCCESS = 0,
  MUSOLVER_STATUS_NOT_INITIALIZED = 1,
  MUSOLVER_STATUS_ALLOC_FAILED = 2,
  MUSOLVER_STATUS_INVALID_VALUE = 3,
  MUSOLVER_STATUS_ARCH_MISMATCH = 4,
  MUSOLVER_STATUS_MAPPING_ERROR = 5,
  MUSOLVER_STATUS_EXECUTION_FAILED = 6,
  MUSOLVER_STATUS_INTERNAL_ERROR = 7,
  MUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8,
  MUSOLVER_STATUS_NOT_SUPPORTED = 9
};
enum musolverEigMode_t { MUSOLVER_EIG_MODE_NOVECTOR = 0, MUSOLVER_EIG_MODE_VECTOR = 1 };

extern "C" {

MUSOLVERAPI musolverStatus_t musolverDnCreate(musolverDnHandle_t* handle);
MUSOLVERAPI musolverStatus_t musolverDnDestroy(musolverDnHandle_t handle);
MUSOLVERAPI musolverStatus_t musolverDnSetStream(musolverDnHandle_t handle, musaStream_t stream);
MUSOLVERAPI musolverStatus_t musolverDnGetStream(musolverDnHandle_t handle, musaStream_t* stream);

// LU, Cholesky, QR and eigenvalues, as LAPACK's routines of these names. `lwork` counts elements.
#define MUSASIM_SOLVER(X, T, R, QR, MQR, EIGEN)                                                                             \
  MUSOLVERAPI musolverStatus_t musolverDn##X##getrf_bufferSize(musolverDnHandle_t, int m, int n, T* a, int lda, int* lwork); \
  MUSOLVERAPI musolverStatus_t musolverDn##X##getrf(musolverDnHandle_t, int m, int n, T* a, int lda, T* work, int* pivots,  \
                                                    int* info);                                                             \
  MUSOLVERAPI musolverStatus_t musolverDn##X##getrs(musolverDnHandle_t, mublasOperation_t trans, int n, int nrhs,           \
                                                    const T* a, int lda, const int* pivots, T* b, int ldb, int* info);      \
  MUSOLVERAPI musolverStatus_t musolverDn##X##potrf_bufferSize(musolverDnHandle_t, mublasFillMode_t uplo, int n, T* a,      \
                                                               int lda, int* lwork);                                        \
  MUSOLVERAPI musolverStatus_t musolverDn##X##potrf(musolverDnHandle_t, mublasFillMode_t uplo, int n, T* a, int lda,        \
                                                    T* work, int lwork, int* info);                                         \
  MUSOLVERAPI musolverStatus_t musolverDn##X##potrs(musolverDnHandle_t, mublasFillMode_t uplo, int n, int nrhs, const T* a, \
                                                    int lda, T* b, int ldb, int* info);                                     \
  MUSOLVERAPI musolverStatus_t musolverDn##X##potrfBatched(musolverDnHandle_t, mublasFillMode_t uplo, int n, T* a[],        \
                                                           int lda, int* info, int batch);                                  \
  MUSOLVERAPI musolverStatus_t musolverDn##X##potrsBatched(musolverDnHandle_t, mublasFillMode_t uplo, int n, int nrhs,      \
                                                           T* a[], int lda, T* b[], int ldb, int* info, int batch);         \
  MUSOLVERAPI musolverStatus_t musolverDn##X##geqrf_bufferSize(musolverDnHandle_t, int m, int n, T* a, int lda, int* lwork); \
  MUSOLVERAPI musolverStatus_t musolverDn##X##geqrf(musolverDnHandle_t, int m, int n, T* a, int lda, T* tau, T* work,       \
                                                    int lwork, int* info);                                                  \
  MUSOLVERAPI musolverStatus_t musolverDn##X##QR##_bufferSize(musolverDnHandle_t, int m, int n, int k, const T* a, int lda, \
                                                              const T* tau, int* lwork);                                    \
  MUSOLVERAPI musolverStatus_t musolverDn##X##QR(musolverDnHandle_t, int m, int n, int k, T* a, int lda, const T* tau,      \
                                                 T* work, int lwork, int* info);                                            \
  MUSOLVERAPI musolverStatus_t musolverDn##X##MQR##_bufferSize(musolverDnHandle_t, mublasSideMode_t side,                   \
                                                               mublasOperation_t trans, int m, int n, int k, const T* a,    \
                                                               int lda, const T* tau, const T* c, int ldc, int* lwork);     \
  MUSOLVERAPI musolverStatus_t musolverDn##X##MQR(musolverDnHandle_t, mublasSideMode_t side, mublasOperation_t trans,       \
                                                  int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc,    \
                                                  T* work, int lwork, int* info);                                           \
  MUSOLVERAPI musolverStatus_t musolverDn##X##EIGEN##_bufferSize(musolverDnHandle_t, musolverEigMode_t jobz,                \
                                                                 mublasFillMode_t uplo, int n, const T* a, int lda,         \
                                                                 const R* values, int* lwork);                              \
  MUSOLVERAPI musolverStatus_t musolverDn##X##EIGEN(musolverDnHandle_t, musolverEigMode_t jobz, mublasFillMode_t uplo,      \
                                                    int n, T* a, int lda, R* values, T* work, int lwork, int* info);
MUSASIM_SOLVER(S, float, float, orgqr, ormqr, syevd)
MUSASIM_SOLVER(D, double, double, orgqr, ormqr, syevd)
MUSASIM_SOLVER(C, muComplex, float, ungqr, unmqr, heevd)
MUSASIM_SOLVER(Z, muDoubleComplex, double, ungqr, unmqr, heevd)
#undef MUSASIM_SOLVER
}
