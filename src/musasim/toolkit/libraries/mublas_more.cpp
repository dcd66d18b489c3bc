// The functions of libmublas.so that no BLAS has: vectors of other types, and factorizations of many matrices.
#include <algorithm>
#include <cmath>

#include "blas.h"
#include "mublas_handle.h"

using namespace musasim;

namespace {

struct Vector {
  int n;
  void* data;
  musaDataType_t type;
  int step;

  std::ptrdiff_t place(int i) const { return first_of(n, step) + static_cast<std::ptrdiff_t>(i) * step; }
  double operator[](int i) const { return load(type, data, place(i)); }
  void set(int i, double value) const { store(type, data, place(i), value); }
};

bool is_real(musaDataType_t type) {
  return type == MUSA_R_16F || type == MUSA_R_16BF || type == MUSA_R_32F || type == MUSA_R_64F;
}
Vector vector(int n, const void* data, musaDataType_t type, int step) {
  return {n, const_cast<void*>(data), type, step};
}

#define MUBLAS_TYPES(condition) \
  if (!(condition)) return MUBLAS_STATUS_NOT_IMPLEMENTED

// A factor: now, or when the work is done.
template <class Work>
mublasStatus_t with_factor(mublasHandle_t handle, const void* alpha, musaDataType_t type, Work work) {
  const bool late = handle->on_device();
  const double now = late ? 0 : load(type, alpha, 0);
  return handle->run([=] { work(late ? load(type, alpha, 0) : now); });
}

// Gauss's elimination in place; returns the number of the first row whose pivot is zero, or 0.
template <class T>
int factorize(T* a, int n, int lda) {
  int zero = 0;
  const auto at = [=](int i, int j) -> T& { return a[i + static_cast<size_t>(j) * lda]; };
  for (int k = 0; k < n; ++k) {
    const Number<T> pivot = number(at(k, k));
    if (pivot == Number<T>{}) zero = zero ? zero : k + 1;
    for (int i = k + 1; i < n; ++i) {
      const Number<T> factor = number(at(i, k)) / pivot;
      at(i, k) = stored<T>(factor);
      for (int j = k + 1; j < n; ++j) at(i, j) = stored<T>(number(at(i, j)) - factor * number(at(k, j)));
    }
  }
  return zero;
}

template <class T>
mublasStatus_t getrf(mublasHandle_t handle, int n, T* const a[], int lda, int* pivots, int* info, int batch) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_SIZES(n >= 0 && lda >= std::max(n, 1) && batch >= 0);
  MUBLAS_POINTERS((a && info) || batch == 0);
  MUBLAS_ROUTINE(routine, blas<T>("getrf"));
  return handle->run([=] {
    for (int i = 0; i < batch; ++i) {
      if (pivots == nullptr) info[i] = factorize(a[i], n, lda);
      else call(routine, &n, &n, a[i], &lda, pivots + static_cast<size_t>(i) * n, info + i);
    }
  });
}

}  // namespace

mublasStatus_t mublasDotEx(mublasHandle_t handle, int n, const void* x, musaDataType_t xtype, int incx, const void* y,
                           musaDataType_t ytype, int incy, void* result, musaDataType_t type, musaDataType_t) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_TYPES(is_real(xtype) && is_real(ytype) && is_real(type));
  MUBLAS_POINTERS(x && y && result);
  return handle->run([=] {
    const Vector a = vector(n, x, xtype, incx), b = vector(n, y, ytype, incy);
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += a[i] * b[i];
    store(type, result, 0, sum);
  });
}
mublasStatus_t mublasDotcEx(mublasHandle_t handle, int n, const void* x, musaDataType_t xtype, int incx, const void* y,
                            musaDataType_t ytype, int incy, void* result, musaDataType_t type, musaDataType_t compute) {
  return mublasDotEx(handle, n, x, xtype, incx, y, ytype, incy, result, type, compute);
}
mublasStatus_t mublasNrm2Ex(mublasHandle_t handle, int n, const void* x, musaDataType_t xtype, int incx, void* result,
                            musaDataType_t type, musaDataType_t) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_TYPES(is_real(xtype) && is_real(type));
  MUBLAS_POINTERS(x && result);
  return handle->run([=] {
    const Vector a = vector(n, x, xtype, incx);
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += a[i] * a[i];
    store(type, result, 0, std::sqrt(sum));
  });
}
mublasStatus_t mublasAxpyEx(mublasHandle_t handle, int n, const void* alpha, musaDataType_t alphatype, const void* x,
                            musaDataType_t xtype, int incx, void* y, musaDataType_t ytype, int incy, musaDataType_t) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_TYPES(is_real(alphatype) && is_real(xtype) && is_real(ytype));
  MUBLAS_POINTERS(alpha && x && y);
  return with_factor(handle, alpha, alphatype, [=](double factor) {
    const Vector a = vector(n, x, xtype, incx), b = vector(n, y, ytype, incy);
    for (int i = 0; i < n; ++i) b.set(i, factor * a[i] + b[i]);
  });
}
mublasStatus_t mublasScalEx(mublasHandle_t handle, int n, const void* alpha, musaDataType_t alphatype, void* x,
                            musaDataType_t xtype, int incx, musaDataType_t) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_TYPES(is_real(alphatype) && is_real(xtype));
  MUBLAS_POINTERS(alpha && x);
  return with_factor(handle, alpha, alphatype, [=](double factor) {
    const Vector a = vector(n, x, xtype, incx);
    for (int i = 0; i < n; ++i) a.set(i, factor * a[i]);
  });
}

#define MUBLAS_DEFINE(X, T)                                                                                                 \
  mublasStatus_t mublas##X##getrfBatched(mublasHandle_t handle, int n, T* const a[], int lda, int* pivots, int* info,      \
                                         int batch) {                                                                       \
    return getrf(handle, n, a, lda, pivots, info, batch);                                                                   \
  }
MUBLAS_DEFINE(S, float)
MUBLAS_DEFINE(D, double)
MUBLAS_DEFINE(C, muComplex)
MUBLAS_DEFINE(Z, muDoubleComplex)
