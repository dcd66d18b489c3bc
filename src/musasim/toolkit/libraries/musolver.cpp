// libmusolver.so: dense factorisations by the LAPACK of PyTorch's own library for the CPU.
#include "musolver.h"

#include <algorithm>

#include "blas.h"

using namespace musasim;

namespace {

musolverStatus_t as_status(musaError_t error) {
  return error == musaSuccess ? MUSOLVER_STATUS_SUCCESS : MUSOLVER_STATUS_EXECUTION_FAILED;
}

musolverStatus_t in(mublasHandle_t handle, void* routine, std::function<void()> work) {
  musaStream_t stream = nullptr;
  if (mublasGetStream(handle, &stream) != MUBLAS_STATUS_SUCCESS) return MUSOLVER_STATUS_NOT_INITIALIZED;
  return routine == nullptr ? MUSOLVER_STATUS_NOT_SUPPORTED : as_status(in_stream(stream, std::move(work)));
}

char half(mublasFillMode_t uplo) {
  return "LU"[uplo];
}

bool is_matrix(int rows, int columns, int ld, const void* data) {
  return rows >= 0 && columns >= 0 && ld >= std::max(1, rows) && (data != nullptr || rows == 0 || columns == 0);
}

// LAPACK says how much room it wants when it is asked for -1 elements; the simulator's functions take their own room and report the
// least that programs of CUDA's expect to pass.
musolverStatus_t room(int elements, int* lwork) {
  if (lwork == nullptr) return MUSOLVER_STATUS_INVALID_VALUE;
  *lwork = std::max(1, elements);
  return MUSOLVER_STATUS_SUCCESS;
}

template <class T>
musolverStatus_t getrf(mublasHandle_t handle, int m, int n, T* a, int lda, int* pivots, int* info) {
  if (!is_matrix(m, n, lda, a) || !info) return MUSOLVER_STATUS_INVALID_VALUE;
  void* const routine = blas<T>("getrf");
  return in(handle, routine, [=] {
    std::vector<int> own(std::max(1, std::min(m, n)));  // without pivots, a program still gets a factorisation
    call(routine, &m, &n, a, &lda, pivots ? pivots : own.data(), info);
  });
}

template <class T>
musolverStatus_t getrs(mublasHandle_t handle, mublasOperation_t trans, int n, int nrhs, const T* a, int lda, const int* pivots,
                       T* b, int ldb, int* info) {
  if (!is_matrix(n, n, lda, a) || !is_matrix(n, nrhs, ldb, b) || !info) return MUSOLVER_STATUS_INVALID_VALUE;
  void* const routine = blas<T>("getrs");
  return in(handle, routine, [=] {
    const char op = operation(trans);
    call(routine, &op, &n, &nrhs, a, &lda, pivots, b, &ldb, info);
  });
}

// A batch of one is the plain function.
template <class T, class Place>
musolverStatus_t potrf(mublasHandle_t handle, mublasFillMode_t uplo, int n, Place matrix, int lda, int* info, int batch) {
  if (n < 0 || lda < std::max(1, n) || batch < 0 || !info) return MUSOLVER_STATUS_INVALID_VALUE;
  void* const routine = blas<T>("potrf");
  return in(handle, routine, [=] {
    const char side = half(uplo);
    for (int i = 0; i < batch; ++i) call(routine, &side, &n, matrix(i), &lda, info + i);
  });
}

template <class T, class Place>
musolverStatus_t potrs(mublasHandle_t handle, mublasFillMode_t uplo, int n, int nrhs, Place pair, int lda, int ldb, int* info,
                       int batch) {
  if (n < 0 || nrhs < 0 || lda < std::max(1, n) || ldb < std::max(1, n) || batch < 0) return MUSOLVER_STATUS_INVALID_VALUE;
  void* const routine = blas<T>("potrs");
  return in(handle, routine, [=] {
    const char side = half(uplo);
    int status = 0;
    for (int i = 0; i < batch; ++i) call(routine, &side, &n, &nrhs, pair(i).first, &lda, pair(i).second, &ldb, &status);
    if (info) *info = status;
  });
}

// Calls a routine of LAPACK's twice: to learn how much room it wants, and with that room.
template <class T, class Routine>
void with_room(Routine routine) {
  T wanted{};
  const int ask = -1;
  routine(&wanted, &ask);
  const int elements = std::max(1, static_cast<int>(std::real(number(wanted))));
  std::vector<T> work(elements);
  routine(work.data(), &elements);
}

template <class T>
musolverStatus_t geqrf(mublasHandle_t handle, int m, int n, T* a, int lda, T* tau, int* info) {
  if (!is_matrix(m, n, lda, a) || !tau || !info) return MUSOLVER_STATUS_INVALID_VALUE;
  void* const routine = blas<T>("geqrf");
  return in(handle, routine, [=] {
    with_room<T>([&](T* work, const int* lwork) { call(routine, &m, &n, a, &lda, tau, work, lwork, info); });
  });
}

template <class T>
musolverStatus_t orgqr(mublasHandle_t handle, const char* name, int m, int n, int k, T* a, int lda, const T* tau, int* info) {
  if (!is_matrix(m, n, lda, a) || k > n || !tau || !info) return MUSOLVER_STATUS_INVALID_VALUE;
  void* const routine = blas<T>(name);
  return in(handle, routine, [=] {
    with_room<T>([&](T* work, const int* lwork) { call(routine, &m, &n, &k, a, &lda, tau, work, lwork, info); });
  });
}

template <class T>
musolverStatus_t ormqr(mublasHandle_t handle, const char* name, mublasSideMode_t side, mublasOperation_t trans, int m, int n,
                       int k, const T* a, int lda, const T* tau, T* c, int ldc, int* info) {
  if (!is_matrix(m, n, ldc, c) || !a || !tau || !info) return MUSOLVER_STATUS_INVALID_VALUE;
  void* const routine = blas<T>(name);
  return in(handle, routine, [=] {
    const char where = "LR"[side], op = operation(trans);
    with_room<T>([&](T* work, const int* lwork) {
      call(routine, &where, &op, &m, &n, &k, a, &lda, tau, c, &ldc, work, lwork, info);
    });
  });
}

template <class T>
musolverStatus_t eigen(mublasHandle_t handle, const char* name, musolverEigMode_t jobz, mublasFillMode_t uplo, int n, T* a,
                       int lda, RealOf<T>* values, int* info) {
  if (!is_matrix(n, n, lda, a) || !values || !info) return MUSOLVER_STATUS_INVALID_VALUE;
  void* const routine = blas<T>(name);
  return in(handle, routine, [=] {
    const char job = "NV"[jobz], side = half(uplo);
    std::vector<RealOf<T>> real(is_complex<T> ? 1 + 5 * static_cast<size_t>(n) + 2 * static_cast<size_t>(n) * n : 0);
    std::vector<int> integers(3 + 5 * static_cast<size_t>(n));
    const int lreal = static_cast<int>(real.size()), lintegers = static_cast<int>(integers.size());
    with_room<T>([&](T* work, const int* lwork) {
      if constexpr (is_complex<T>) {
        call(routine, &job, &side, &n, a, &lda, values, work, lwork, real.data(), &lreal, integers.data(), &lintegers, info);
      } else {
        call(routine, &job, &side, &n, a, &lda, values, work, lwork, integers.data(), &lintegers, info);
      }
    });
  });
}

musolverStatus_t from_blas(mublasStatus_t status) {
  return status == MUBLAS_STATUS_SUCCESS ? MUSOLVER_STATUS_SUCCESS : MUSOLVER_STATUS_NOT_INITIALIZED;
}

}  // namespace

musolverStatus_t musolverDnCreate(musolverDnHandle_t* handle) {
  return from_blas(mublasCreate(handle));
}
musolverStatus_t musolverDnDestroy(musolverDnHandle_t handle) {
  return from_blas(mublasDestroy(handle));
}
musolverStatus_t musolverDnSetStream(musolverDnHandle_t handle, musaStream_t stream) {
  return from_blas(mublasSetStream(handle, stream));
}
musolverStatus_t musolverDnGetStream(musolverDnHandle_t handle, musaStream_t* stream) {
  return from_blas(mublasGetStream(handle, stream));
}

#define MUSOLVER_TYPE(X, T, R, QR, MQR, EIGEN)                                                                                  \
  musolverStatus_t musolverDn##X##getrf_bufferSize(musolverDnHandle_t, int m, int n, T*, int, int* lwork) {                     \
    return room(std::max(m, n), lwork);                                                                                         \
  }                                                                                                                             \
  musolverStatus_t musolverDn##X##getrf(musolverDnHandle_t h, int m, int n, T* a, int lda, T*, int* pivots, int* info) {        \
    return getrf(h, m, n, a, lda, pivots, info);                                                                                \
  }                                                                                                                             \
  musolverStatus_t musolverDn##X##getrs(musolverDnHandle_t h, mublasOperation_t trans, int n, int nrhs, const T* a, int lda,    \
                                        const int* pivots, T* b, int ldb, int* info) {                                          \
    return getrs(h, trans, n, nrhs, a, lda, pivots, b, ldb, info);                                                              \
  }                                                                                                                             \
  musolverStatus_t musolverDn##X##potrf_bufferSize(musolverDnHandle_t, mublasFillMode_t, int n, T*, int, int* lwork) {          \
    return room(n, lwork);                                                                                                      \
  }                                                                                                                             \
  musolverStatus_t musolverDn##X##potrf(musolverDnHandle_t h, mublasFillMode_t uplo, int n, T* a, int lda, T*, int, int* info) { \
    return potrf<T>(h, uplo, n, [=](int) { return a; }, lda, info, 1);                                                          \
  }                                                                                                                             \
  musolverStatus_t musolverDn##X##potrs(musolverDnHandle_t h, mublasFillMode_t uplo, int n, int nrhs, const T* a, int lda,      \
                                        T* b, int ldb, int* info) {                                                             \
    return potrs<T>(h, uplo, n, nrhs, [=](int) { return std::pair(a, b); }, lda, ldb, info, 1);                                 \
  }                                                                                                                             \
  musolverStatus_t musolverDn##X##potrfBatched(musolverDnHandle_t h, mublasFillMode_t uplo, int n, T* a[], int lda, int* info,  \
                                               int batch) {                                                                     \
    return potrf<T>(h, uplo, n, [=](int i) { return a[i]; }, lda, info, batch);                                                 \
  }                                                                                                                             \
  musolverStatus_t musolverDn##X##potrsBatched(musolverDnHandle_t h, mublasFillMode_t uplo, int n, int nrhs, T* a[], int lda,   \
                                               T* b[], int ldb, int* info, int batch) {                                         \
    return potrs<T>(h, uplo, n, nrhs, [=](int i) { return std::pair(a[i], b[i]); }, lda, ldb, info, batch);                     \
  }                                                                                                                             \
  musolverStatus_t musolverDn##X##geqrf_bufferSize(musolverDnHandle_t, int m, int n, T*, int, int* lwork) {                     \
    return room(std::max(m, n), lwork);                                                                                         \
  }                                                                                                                             \
  musolverStatus_t musolverDn##X##geqrf(musolverDnHandle_t h, int m, int n, T* a, int lda, T* tau, T*, int, int* info) {        \
    return geqrf(h, m, n, a, lda, tau, info);                                                                                   \
  }                                                                                                                             \
  musolverStatus_t musolverDn##X##QR##_bufferSize(musolverDnHandle_t, int m, int n, int, const T*, int, const T*, int* lwork) { \
    return room(std::max(m, n), lwork);                                                                                         \
  }                                                                                                                             \
  musolverStatus_t musolverDn##X##QR(musolverDnHandle_t h, int m, int n, int k, T* a, int lda, const T* tau, T*, int,           \
                                     int* info) {                                                                               \
    return orgqr(h, #QR, m, n, k, a, lda, tau, info);                                                                           \
  }                                                                                                                             \
  musolverStatus_t musolverDn##X##MQR##_bufferSize(musolverDnHandle_t, mublasSideMode_t, mublasOperation_t, int m, int n, int,  \
                                                   const T*, int, const T*, const T*, int, int* lwork) {                        \
    return room(std::max(m, n), lwork);                                                                                         \
  }                                                                                                                             \
  musolverStatus_t musolverDn##X##MQR(musolverDnHandle_t h, mublasSideMode_t side, mublasOperation_t trans, int m, int n,       \
                                      int k, const T* a, int lda, const T* tau, T* c, int ldc, T*, int, int* info) {            \
    return ormqr(h, #MQR, side, trans, m, n, k, a, lda, tau, c, ldc, info);                                                     \
  }                                                                                                                             \
  musolverStatus_t musolverDn##X##EIGEN##_bufferSize(musolverDnHandle_t, musolverEigMode_t, mublasFillMode_t, int n, const T*,  \
                                                     int, const R*, int* lwork) {                                               \
    return room(n, lwork);                                                                                                      \
  }                                                                                                                             \
  musolverStatus_t musolverDn##X##EIGEN(musolverDnHandle_t h, musolverEigMode_t jobz, mublasFillMode_t uplo, int n, T* a,       \
                                        int lda, R* values, T*, int, int* info) {                                               \
    return eigen(h, #EIGEN, jobz, uplo, n, a, lda, values, info);                                                               \
  }
MUSOLVER_TYPE(S, float, float, orgqr, ormqr, syevd)
MUSOLVER_TYPE(D, double, double, orgqr, ormqr, syevd)
MUSOLVER_TYPE(C, muComplex, float, ungqr, unmqr, heevd)
MUSOLVER_TYPE(Z, muDoubleComplex, double, ungqr, unmqr, heevd)
