// libmublas.so: muBLAS's functions by the BLAS of PyTorch's own library for the CPU.
#include "mublas.h"

#include <cstring>

#include "blas.h"
#include "mublas_handle.h"

using namespace musasim;

// --- handles ---------------------------------------------------------------------------------------------------------------------

mublasStatus_t mublasCreate(mublasHandle_t* handle) {
  MUBLAS_POINTERS(handle);
  *handle = new mublasContext;
  return MUBLAS_STATUS_SUCCESS;
}
mublasStatus_t mublasDestroy(mublasHandle_t handle) {
  MUBLAS_REQUIRE(handle);
  delete handle;
  return MUBLAS_STATUS_SUCCESS;
}
mublasStatus_t mublasGetVersion(mublasHandle_t, int* version) {
  MUBLAS_POINTERS(version);
  *version = MUSART_VERSION;
  return MUBLAS_STATUS_SUCCESS;
}

namespace {
const char* name_of(mublasStatus_t status) {
  static const char* const names[] = {
      "SUCCESS", "INVALID_HANDLE", "NOT_IMPLEMENTED", "INVALID_POINTER", "INVALID_SIZE", "MEMORY_ERROR", "INTERNAL_ERROR",
      "PERF_DEGRADED", "SIZE_QUERY_MISMATCH", "SIZE_INCREASED", "SIZE_UNCHANGED", "INVALID_VALUE", "CONTINUE",
      "CHECK_NUMERICS_FAIL", "NOT_INITIALIZED", "ALLOC_FAILED", "ARCH_MISMATCH", "MAPPING_ERROR", "EXECUTION_FAILED",
      "LICENSE_ERROR"};
  static std::string full[std::size(names)];
  if (status < 0 || static_cast<size_t>(status) >= std::size(names)) return "unknown status of muBLAS";
  if (full[status].empty()) full[status] = std::string("MUBLAS_STATUS_") + names[status];
  return full[status].c_str();
}
}  // namespace

const char* mublasGetStatusString(mublasStatus_t status) {
  return name_of(status);
}
const char* mublasGetStatusName(mublasStatus_t status) {
  return name_of(status);
}

#define MUBLAS_PROPERTY(name, type, member)                                   \
  mublasStatus_t mublasSet##name(mublasHandle_t handle, type value) {         \
    MUBLAS_REQUIRE(handle);                                                   \
    handle->member = value;                                                   \
    return MUBLAS_STATUS_SUCCESS;                                             \
  }                                                                           \
  mublasStatus_t mublasGet##name(mublasHandle_t handle, type* value) {        \
    MUBLAS_REQUIRE(handle);                                                   \
    MUBLAS_POINTERS(value);                                                   \
    *value = handle->member;                                                  \
    return MUBLAS_STATUS_SUCCESS;                                             \
  }
MUBLAS_PROPERTY(Stream, musaStream_t, stream)
MUBLAS_PROPERTY(PointerMode, mublasPointerMode_t, pointers)
MUBLAS_PROPERTY(AtomicsMode, mublasAtomicsMode_t, atomics)
MUBLAS_PROPERTY(MathMode, mublasMath_t, math)

mublasStatus_t mublasSetWorkspace(mublasHandle_t handle, void*, size_t) {
  MUBLAS_REQUIRE(handle);
  return MUBLAS_STATUS_SUCCESS;  // nothing here needs one
}

// --- copies between host and device ------------------------------------------------------------------------------------------------

namespace {
mublasStatus_t copy_matrix(int m, int n, int size, const void* a, int lda, void* b, int ldb) {
  MUBLAS_SIZES(m >= 0 && n >= 0 && size > 0 && lda >= m && ldb >= m);
  MUBLAS_POINTERS(a && b);
  const auto error = musaMemcpy2D(b, static_cast<size_t>(ldb) * size, a, static_cast<size_t>(lda) * size,
                                  static_cast<size_t>(m) * size, static_cast<size_t>(n), musaMemcpyDefault);
  return error == musaSuccess ? MUBLAS_STATUS_SUCCESS : MUBLAS_STATUS_INTERNAL_ERROR;
}
// A vector with steps is a matrix of one row.
mublasStatus_t copy_vector(int n, int size, const void* from, int from_step, void* to, int to_step) {
  MUBLAS_SIZES(from_step > 0 && to_step > 0);
  return copy_matrix(1, n, size, from, from_step, to, to_step);
}
}  // namespace

mublasStatus_t mublasSetVector(int n, int size, const void* from, int from_step, void* to, int to_step) {
  return copy_vector(n, size, from, from_step, to, to_step);
}
mublasStatus_t mublasGetVector(int n, int size, const void* from, int from_step, void* to, int to_step) {
  return copy_vector(n, size, from, from_step, to, to_step);
}
mublasStatus_t mublasSetMatrix(int m, int n, int size, const void* a, int lda, void* b, int ldb) {
  return copy_matrix(m, n, size, a, lda, b, ldb);
}
mublasStatus_t mublasGetMatrix(int m, int n, int size, const void* a, int lda, void* b, int ldb) {
  return copy_matrix(m, n, size, a, lda, b, ldb);
}

// --- vectors -----------------------------------------------------------------------------------------------------------------------

namespace {

// Applies a function to each pair of elements of two vectors.
template <class T, class Function>
mublasStatus_t each(mublasHandle_t handle, int n, T* x, int incx, T* y, int incy, Function function) {
  MUBLAS_REQUIRE(handle);
  if (n <= 0) return MUBLAS_STATUS_SUCCESS;
  MUBLAS_POINTERS(x && y);
  return handle->run([=] {
    auto* px = x + first_of(n, incx);
    auto* py = y + first_of(n, incy);
    for (int i = 0; i < n; ++i, px += incx, py += incy) function(*px, *py);
  });
}

template <class T>
mublasStatus_t axpy(mublasHandle_t handle, int n, const T* alpha, const T* x, int incx, T* y, int incy) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_POINTERS(alpha);
  const auto factor = handle->scalar(alpha);
  return each(handle, n, const_cast<T*>(x), incx, y, incy,
              [=](const T& a, T& b) { b = stored<T>(number(factor()) * number(a) + number(b)); });
}

template <class T>
mublasStatus_t scal(mublasHandle_t handle, int n, const T* alpha, T* x, int incx) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_POINTERS(alpha);
  const auto factor = handle->scalar(alpha);
  return each(handle, n, x, incx, x, incx, [=](const T&, T& a) { a = stored<T>(number(factor()) * number(a)); });
}

// Sums over vectors, in double, and rounds once.
template <class T, class R, class Function>
mublasStatus_t reduce(mublasHandle_t handle, int n, const T* x, int incx, R* result, Function function) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_POINTERS(result && (x || n <= 0));
  return handle->run([=] { *result = static_cast<R>(n <= 0 || incx <= 0 ? 0 : function(n, x, incx)); });
}

template <class T>
double absolute_sum(int n, const T* x, int incx) {
  double sum = 0;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const auto value = number(x[i * incx]);
    sum += std::abs(static_cast<double>(std::real(value))) + std::abs(static_cast<double>(std::imag(value)));
  }
  return sum;
}

template <class T>
double norm(int n, const T* x, int incx) {
  double largest = 0, sum = 0;
  for (std::ptrdiff_t i = 0; i < n; ++i) largest = std::max(largest, static_cast<double>(std::abs(number(x[i * incx]))));
  if (largest == 0) return 0;
  for (std::ptrdiff_t i = 0; i < n; ++i) sum += std::norm(static_cast<double>(std::abs(number(x[i * incx]))) / largest);
  return largest * std::sqrt(sum);
}

// The place, from 1, of the first element that no other beats; complex numbers count by the sum of their parts.
template <bool largest, class T>
int extreme(int n, const T* x, int incx) {
  int found = 0;
  for (int i = 1; i < n; ++i) {
    const double a = absolute_sum(1, x + static_cast<std::ptrdiff_t>(i) * incx, 1);
    const double b = absolute_sum(1, x + static_cast<std::ptrdiff_t>(found) * incx, 1);
    if (largest ? a > b : a < b) found = i;
  }
  return found + 1;
}

template <bool conjugated, class T>
mublasStatus_t dot(mublasHandle_t handle, int n, const T* x, int incx, const T* y, int incy, T* result) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_POINTERS(result && (n <= 0 || (x && y)));
  return handle->run([=] {
    std::complex<double> sum = 0;
    const auto *px = x + first_of(n, incx), *py = y + first_of(n, incy);
    for (int i = 0; i < n; ++i, px += incx, py += incy) {
      const auto a = conjugated ? conjugate<T>(number(*px)) : number(*px);
      sum += std::complex<double>(a) * std::complex<double>(number(*py));
    }
    if constexpr (is_complex<T>) *result = {static_cast<RealOf<T>>(sum.real()), static_cast<RealOf<T>>(sum.imag())};
    else *result = static_cast<T>(sum.real());
  });
}

// A product with a matrix of one column, because PyTorch's library has gemv for real numbers alone.
template <class T>
mublasStatus_t gemv(mublasHandle_t handle, mublasOperation_t trans, int m, int n, const T* alpha, const T* a, int lda, const T* x,
                    int incx, const T* beta, T* y, int incy) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_SIZES(m >= 0 && n >= 0 && lda >= std::max(1, m) && incx != 0 && incy != 0);
  MUBLAS_POINTERS(alpha && beta && (m == 0 || n == 0 || (a && x && y)));
  MUBLAS_ROUTINE(routine, blas<T>("gemm"));
  const auto first = handle->scalar(alpha), second = handle->scalar(beta);
  const int rows = trans == MUBLAS_OP_N ? m : n, inner = trans == MUBLAS_OP_N ? n : m;
  const Product<T> product{operation(trans), 'N', rows, 1, inner, lda, std::max(1, inner), std::max(1, rows)};
  return handle->run([=] {
    std::vector<T> in(inner), out(rows);
    const auto* px = x + first_of(inner, incx);
    auto* py = y + first_of(rows, incy);
    for (std::ptrdiff_t i = 0; i < inner; ++i) in[i] = px[i * incx];
    for (std::ptrdiff_t i = 0; i < rows; ++i) out[i] = py[i * incy];
    product(routine, first(), a, in.data(), second(), out.data());
    for (std::ptrdiff_t i = 0; i < rows; ++i) py[i * incy] = out[i];
  });
}

template <bool conjugated, class T>
mublasStatus_t ger(mublasHandle_t handle, int m, int n, const T* alpha, const T* x, int incx, const T* y, int incy, T* a,
                   int lda) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_SIZES(m >= 0 && n >= 0 && lda >= std::max(1, m) && incx != 0 && incy != 0);
  MUBLAS_POINTERS(alpha && (m == 0 || n == 0 || (a && x && y)));
  const auto factor = handle->scalar(alpha);
  return handle->run([=] {
    const auto *px = x + first_of(m, incx), *py = y + first_of(n, incy);
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      const auto other = number(factor()) * (conjugated ? conjugate<T>(number(py[j * incy])) : number(py[j * incy]));
      for (std::ptrdiff_t i = 0; i < m; ++i) a[j * lda + i] = stored<T>(number(a[j * lda + i]) + number(px[i * incx]) * other);
    }
  });
}

// --- matrices ----------------------------------------------------------------------------------------------------------------------

// A check that all products share, because a BLAS ends or reads elsewhere where it is not met.
bool fits(mublasOperation_t transa, mublasOperation_t transb, int m, int n, int k, int lda, int ldb, int ldc) {
  const int rows_a = transa == MUBLAS_OP_N ? m : k, rows_b = transb == MUBLAS_OP_N ? k : n;
  return m >= 0 && n >= 0 && k >= 0 && lda >= std::max(1, rows_a) && ldb >= std::max(1, rows_b) && ldc >= std::max(1, m);
}

// Where the matrices of each product of a batch are.
template <class T>
struct One {
  const T *a, *b;
  T* c;
};

template <class T, class Place>
mublasStatus_t products(mublasHandle_t handle, mublasOperation_t transa, mublasOperation_t transb, int m, int n, int k,
                        const T* alpha, int lda, int ldb, const T* beta, int ldc, int batch, Place place) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_SIZES(batch >= 0 && fits(transa, transb, m, n, k, lda, ldb, ldc));
  MUBLAS_POINTERS(alpha && beta);
  MUBLAS_ROUTINE(routine, blas<T>("gemm"));
  const auto first = handle->scalar(alpha), second = handle->scalar(beta);
  const Product<T> product{operation(transa), operation(transb), m, n, k, lda, ldb, ldc};
  return handle->run([=] {
    for (int i = 0; i < batch; ++i) {
      const One<T> each = place(i);
      product(routine, first(), each.a, each.b, second(), each.c);
    }
  });
}

template <class T>
struct Solve {
  char side, uplo, trans, diag;
  int m, n, lda, ldb;
};

template <class T, class Place>
mublasStatus_t solve(mublasHandle_t handle, mublasSideMode_t side, mublasFillMode_t uplo, mublasOperation_t trans,
                     mublasDiagType_t diag, int m, int n, const T* alpha, int lda, int ldb, int batch, Place place) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_SIZES(m >= 0 && n >= 0 && batch >= 0 && ldb >= std::max(1, m) &&
               lda >= std::max(1, side == MUBLAS_SIDE_LEFT ? m : n));
  MUBLAS_POINTERS(alpha);
  MUBLAS_ROUTINE(routine, blas<T>("trsm"));
  const auto first = handle->scalar(alpha);
  const Solve<T> s{"LR"[side], "LU"[uplo], operation(trans), "NU"[diag], m, n, lda, ldb};
  return handle->run([=] {
    for (int i = 0; i < batch; ++i) {
      const One<T> each = place(i);
      const T factor = first();
      call(routine, &s.side, &s.uplo, &s.trans, &s.diag, &s.m, &s.n, &factor, each.a, &s.lda, each.c, &s.ldb);
    }
  });
}

// PyTorch's library has products and no rank-k updates, so half of a product is kept.
template <class T>
mublasStatus_t syrk(mublasHandle_t handle, mublasFillMode_t uplo, mublasOperation_t trans, int n, int k, const T* alpha,
                    const T* a, int lda, const T* beta, T* c, int ldc) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_SIZES(n >= 0 && k >= 0 && ldc >= std::max(1, n) && lda >= std::max(1, trans == MUBLAS_OP_N ? n : k));
  MUBLAS_POINTERS(alpha && beta && (n == 0 || c));
  MUBLAS_ROUTINE(routine, blas<T>("gemm"));
  const auto first = handle->scalar(alpha), second = handle->scalar(beta);
  const bool flat = trans == MUBLAS_OP_N;
  const Product<T> product{flat ? 'N' : 'T', flat ? 'T' : 'N', n, n, k, lda, lda, std::max(1, n)};
  return handle->run([=] {
    std::vector<T> sums(static_cast<size_t>(n) * n);
    product(routine, first(), a, a, T{}, sums.data());
    const auto other = number(second());
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      const bool lower = uplo == MUBLAS_FILL_MODE_LOWER;
      for (std::ptrdiff_t i = lower ? j : 0; i < (lower ? n : j + 1); ++i) {
        const auto before = other == Number<T>{} ? other : other * number(c[j * ldc + i]);
        c[j * ldc + i] = stored<T>(number(sums[j * n + i]) + before);
      }
    }
  });
}

template <class T>
Number<T> element(const T* a, int ld, mublasOperation_t op, std::ptrdiff_t i, std::ptrdiff_t j) {
  const auto value = number(op == MUBLAS_OP_N ? a[j * ld + i] : a[i * ld + j]);
  return op == MUBLAS_OP_C ? conjugate<T>(value) : value;
}

template <class T>
mublasStatus_t geam(mublasHandle_t handle, mublasOperation_t transa, mublasOperation_t transb, int m, int n, const T* alpha,
                    const T* a, int lda, const T* beta, const T* b, int ldb, T* c, int ldc) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_SIZES(m >= 0 && n >= 0 && ldc >= std::max(1, m));
  MUBLAS_POINTERS(alpha && beta && (m == 0 || n == 0 || c));
  const auto first = handle->scalar(alpha), second = handle->scalar(beta);
  return handle->run([=] {
    const auto x = number(first()), y = number(second()), none = Number<T>{};
    std::vector<T> sums(static_cast<size_t>(m) * n);  // c may be a or b
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      for (std::ptrdiff_t i = 0; i < m; ++i) {
        const auto one = x == none ? none : x * element(a, lda, transa, i, j);
        const auto other = y == none ? none : y * element(b, ldb, transb, i, j);
        sums[j * m + i] = stored<T>(one + other);
      }
    }
    for (std::ptrdiff_t j = 0; j < n; ++j) std::memcpy(c + j * ldc, &sums[j * m], sizeof(T) * m);
  });
}

template <class T>
mublasStatus_t dgmm(mublasHandle_t handle, mublasSideMode_t side, int m, int n, const T* a, int lda, const T* x, int incx, T* c,
                    int ldc) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_SIZES(m >= 0 && n >= 0 && lda >= std::max(1, m) && ldc >= std::max(1, m));
  MUBLAS_POINTERS(m == 0 || n == 0 || (a && x && c));
  return handle->run([=] {
    const auto* start = x + first_of(side == MUBLAS_SIDE_LEFT ? m : n, incx);
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      for (std::ptrdiff_t i = 0; i < m; ++i) {
        const auto factor = number(start[(side == MUBLAS_SIDE_LEFT ? i : j) * incx]);
        c[j * ldc + i] = stored<T>(number(a[j * lda + i]) * factor);
      }
    }
  });
}

}  // namespace

#define MUBLAS_TYPE(X, T)                                                                                                       \
  mublasStatus_t mublas##X##axpy(mublasHandle_t h, int n, const T* alpha, const T* x, int incx, T* y, int incy) {               \
    return axpy(h, n, alpha, x, incx, y, incy);                                                                                 \
  }                                                                                                                             \
  mublasStatus_t mublas##X##scal(mublasHandle_t h, int n, const T* alpha, T* x, int incx) {                                     \
    return scal(h, n, alpha, x, incx);                                                                                          \
  }                                                                                                                             \
  mublasStatus_t mublas##X##copy(mublasHandle_t h, int n, const T* x, int incx, T* y, int incy) {                               \
    return each(h, n, const_cast<T*>(x), incx, y, incy, [](const T& a, T& b) { b = a; });                                       \
  }                                                                                                                             \
  mublasStatus_t mublas##X##swap(mublasHandle_t h, int n, T* x, int incx, T* y, int incy) {                                     \
    return each(h, n, x, incx, y, incy, [](T& a, T& b) { std::swap(a, b); });                                                   \
  }                                                                                                                             \
  mublasStatus_t mublas##X##gemv(mublasHandle_t h, mublasOperation_t op, int m, int n, const T* alpha, const T* a, int lda,     \
                                 const T* x, int incx, const T* beta, T* y, int incy) {                                         \
    return gemv(h, op, m, n, alpha, a, lda, x, incx, beta, y, incy);                                                            \
  }                                                                                                                             \
  mublasStatus_t mublas##X##gemm(mublasHandle_t h, mublasOperation_t ta, mublasOperation_t tb, int m, int n, int k,             \
                                 const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c, int ldc) {      \
    return products(h, ta, tb, m, n, k, alpha, lda, ldb, beta, ldc, 1, [=](int) { return One<T>{a, b, c}; });                   \
  }                                                                                                                             \
  mublasStatus_t mublas##X##gemmBatched(mublasHandle_t h, mublasOperation_t ta, mublasOperation_t tb, int m, int n, int k,      \
                                        const T* alpha, const T* const a[], int lda, const T* const b[], int ldb,               \
                                        const T* beta, T* const c[], int ldc, int batch) {                                      \
    return products(h, ta, tb, m, n, k, alpha, lda, ldb, beta, ldc, batch,                                                      \
                    [=](int i) { return One<T>{a[i], b[i], c[i]}; });                                                           \
  }                                                                                                                             \
  mublasStatus_t mublas##X##gemmStridedBatched(mublasHandle_t h, mublasOperation_t ta, mublasOperation_t tb, int m, int n,      \
                                               int k, const T* alpha, const T* a, int lda, long long sa, const T* b, int ldb,   \
                                               long long sb, const T* beta, T* c, int ldc, long long sc, int batch) {           \
    return products(h, ta, tb, m, n, k, alpha, lda, ldb, beta, ldc, batch,                                                      \
                    [=](int i) { return One<T>{a + i * sa, b + i * sb, c + i * sc}; });                                         \
  }                                                                                                                             \
  mublasStatus_t mublas##X##trsm(mublasHandle_t h, mublasSideMode_t side, mublasFillMode_t uplo, mublasOperation_t op,          \
                                 mublasDiagType_t diag, int m, int n, const T* alpha, const T* a, int lda, T* b, int ldb) {     \
    return solve(h, side, uplo, op, diag, m, n, alpha, lda, ldb, 1, [=](int) { return One<T>{a, nullptr, b}; });                \
  }                                                                                                                             \
  mublasStatus_t mublas##X##trsmBatched(mublasHandle_t h, mublasSideMode_t side, mublasFillMode_t uplo, mublasOperation_t op,   \
                                        mublasDiagType_t diag, int m, int n, const T* alpha, const T* const a[], int lda,       \
                                        T* const b[], int ldb, int batch) {                                                     \
    return solve(h, side, uplo, op, diag, m, n, alpha, lda, ldb, batch, [=](int i) { return One<T>{a[i], nullptr, b[i]}; });    \
  }                                                                                                                             \
  mublasStatus_t mublas##X##syrk(mublasHandle_t h, mublasFillMode_t uplo, mublasOperation_t op, int n, int k, const T* alpha,   \
                                 const T* a, int lda, const T* beta, T* c, int ldc) {                                           \
    return syrk(h, uplo, op, n, k, alpha, a, lda, beta, c, ldc);                                                                \
  }                                                                                                                             \
  mublasStatus_t mublas##X##geam(mublasHandle_t h, mublasOperation_t ta, mublasOperation_t tb, int m, int n, const T* alpha,    \
                                 const T* a, int lda, const T* beta, const T* b, int ldb, T* c, int ldc) {                      \
    return geam(h, ta, tb, m, n, alpha, a, lda, beta, b, ldb, c, ldc);                                                          \
  }                                                                                                                             \
  mublasStatus_t mublas##X##dgmm(mublasHandle_t h, mublasSideMode_t side, int m, int n, const T* a, int lda, const T* x,        \
                                 int incx, T* c, int ldc) {                                                                     \
    return dgmm(h, side, m, n, a, lda, x, incx, c, ldc);                                                                        \
  }
MUBLAS_TYPE(S, float)
MUBLAS_TYPE(D, double)
MUBLAS_TYPE(C, muComplex)
MUBLAS_TYPE(Z, muDoubleComplex)

#define MUBLAS_REDUCTIONS(X, T, R, NAME)                                                                       \
  mublasStatus_t mublas##NAME##nrm2(mublasHandle_t h, int n, const T* x, int incx, R* result) {                \
    return reduce(h, n, x, incx, result, norm<T>);                                                             \
  }                                                                                                            \
  mublasStatus_t mublas##NAME##asum(mublasHandle_t h, int n, const T* x, int incx, R* result) {                \
    return reduce(h, n, x, incx, result, absolute_sum<T>);                                                     \
  }                                                                                                            \
  mublasStatus_t mublasI##X##amax(mublasHandle_t h, int n, const T* x, int incx, int* result) {                \
    return reduce(h, n, x, incx, result, extreme<true, T>);                                                    \
  }                                                                                                            \
  mublasStatus_t mublasI##X##amin(mublasHandle_t h, int n, const T* x, int incx, int* result) {                \
    return reduce(h, n, x, incx, result, extreme<false, T>);                                                   \
  }
MUBLAS_REDUCTIONS(s, float, float, S)
MUBLAS_REDUCTIONS(d, double, double, D)
MUBLAS_REDUCTIONS(c, muComplex, float, Sc)
MUBLAS_REDUCTIONS(z, muDoubleComplex, double, Dz)

#define MUBLAS_DOT(NAME, T, conjugated)                                                                                 \
  mublasStatus_t mublas##NAME(mublasHandle_t h, int n, const T* x, int incx, const T* y, int incy, T* result) {         \
    return dot<conjugated>(h, n, x, incx, y, incy, result);                                                             \
  }
MUBLAS_DOT(Sdot, float, false)
MUBLAS_DOT(Ddot, double, false)
MUBLAS_DOT(Cdotu, muComplex, false)
MUBLAS_DOT(Cdotc, muComplex, true)
MUBLAS_DOT(Zdotu, muDoubleComplex, false)
MUBLAS_DOT(Zdotc, muDoubleComplex, true)

#define MUBLAS_GER(NAME, T, conjugated)                                                                                    \
  mublasStatus_t mublas##NAME(mublasHandle_t h, int m, int n, const T* alpha, const T* x, int incx, const T* y,         \
                              int incy, T* a, int lda) {                                                                \
    return ger<conjugated>(h, m, n, alpha, x, incx, y, incy, a, lda);                                                      \
  }
MUBLAS_GER(Sger, float, false)
MUBLAS_GER(Dger, double, false)
MUBLAS_GER(Cgeru, muComplex, false)
MUBLAS_GER(Cgerc, muComplex, true)
MUBLAS_GER(Zgeru, muDoubleComplex, false)
MUBLAS_GER(Zgerc, muDoubleComplex, true)

// --- products of other types -------------------------------------------------------------------------------------------------------

namespace {

struct Mixed {
  mublasOperation_t transa, transb;
  int m, n, k;
  musaDataType_t atype;
  int lda;
  musaDataType_t btype;
  int ldb;
  musaDataType_t ctype;
  int ldc;
  musaDataType_t compute;

  bool is_complex() const { return ctype == MUSA_C_32F || ctype == MUSA_C_64F; }
  // Sums of 8-bit integers are exact in double, which the CPU's BLAS adds; those of 16-bit numbers are taken in float.
  bool is_wide() const { return compute == MUSA_R_64F || compute == MUSA_R_32I || ctype == MUSA_R_64F; }
  bool is_known() const {
    if (is_complex()) return atype == ctype && btype == ctype && compute == ctype;
    const bool types = size_of(atype) && size_of(btype) && size_of(ctype) && atype != MUSA_C_32F && btype != MUSA_C_32F;
    return types && (compute == MUSA_R_16F || compute == MUSA_R_32F || compute == MUSA_R_64F || compute == MUSA_R_32I);
  }
};

// alpha and beta are of the type of the computation.
double scale(musaDataType_t compute, const void* place) {
  return load(compute, place, 0);
}

template <class T>
void product(const Mixed& x, void* gemm, const void* alpha, const void* a, const void* b, const void* beta, void* c) {
  const int rows_a = x.transa == MUBLAS_OP_N ? x.m : x.k, rows_b = x.transb == MUBLAS_OP_N ? x.k : x.n;
  const T factor = static_cast<T>(scale(x.compute, alpha)), other = static_cast<T>(scale(x.compute, beta));
  const auto first = widened<T>(x.atype, a, rows_a, x.transa == MUBLAS_OP_N ? x.k : x.m, x.lda);
  const auto second = widened<T>(x.btype, b, rows_b, x.transb == MUBLAS_OP_N ? x.n : x.k, x.ldb);
  auto sums = other == 0 ? std::vector<T>(static_cast<size_t>(x.m) * x.n) : widened<T>(x.ctype, c, x.m, x.n, x.ldc);
  const Product<T> dense{operation(x.transa), operation(x.transb), x.m, x.n, x.k,
                         std::max(1, rows_a), std::max(1, rows_b), std::max(1, x.m)};
  dense(gemm, factor, first.data(), second.data(), other, sums.data());
  narrowed(sums, x.ctype, c, x.m, x.n, x.ldc);
}

template <class T>
void plain(const Mixed& x, void* gemm, const void* alpha, const void* a, const void* b, const void* beta, void* c) {
  const Product<T> dense{operation(x.transa), operation(x.transb), x.m, x.n, x.k, x.lda, x.ldb, x.ldc};
  dense(gemm, *static_cast<const T*>(alpha), static_cast<const T*>(a), static_cast<const T*>(b), *static_cast<const T*>(beta),
        static_cast<T*>(c));
}

struct Routine {
  void* gemm;
  void (*run)(const Mixed&, void* gemm, const void* alpha, const void* a, const void* b, const void* beta, void* c);
};

Routine routine_for(const Mixed& x) {
  if (x.ctype == MUSA_C_64F) return {blas<muDoubleComplex>("gemm"), plain<muDoubleComplex>};
  if (x.ctype == MUSA_C_32F) return {blas<muComplex>("gemm"), plain<muComplex>};
  if (x.is_wide()) return {blas<double>("gemm"), product<double>};
  return {blas<float>("gemm"), product<float>};
}

// What alpha and beta point to, as bytes: the host's may be gone when a graph is replayed.
struct Bytes {
  alignas(16) char value[16];
};

Bytes bytes_of(const Mixed& x, const void* place, bool on_device) {
  Bytes copy{};
  if (!on_device) std::memcpy(copy.value, place, size_of(x.compute));
  return copy;
}

template <class Place>
mublasStatus_t mixed(mublasHandle_t handle, const Mixed& x, const void* alpha, const void* beta, int batch, Place place) {
  MUBLAS_REQUIRE(handle);
  MUBLAS_SIZES(batch >= 0 && fits(x.transa, x.transb, x.m, x.n, x.k, x.lda, x.ldb, x.ldc));
  MUBLAS_POINTERS(alpha && beta);
  if (!x.is_known()) return MUBLAS_STATUS_NOT_IMPLEMENTED;
  const auto routine = routine_for(x);
  if (routine.gemm == nullptr) return MUBLAS_STATUS_NOT_IMPLEMENTED;
  const bool on_device = handle->on_device();
  const Bytes first = bytes_of(x, alpha, on_device), second = bytes_of(x, beta, on_device);
  return handle->run([=] {
    for (int i = 0; i < batch; ++i) {
      const One<char> each = place(i);
      routine.run(x, routine.gemm, on_device ? alpha : first.value, each.a, each.b, on_device ? beta : second.value, each.c);
    }
  });
}

One<char> at(const void* a, const void* b, void* c) {
  return {static_cast<const char*>(a), static_cast<const char*>(b), static_cast<char*>(c)};
}

}  // namespace

mublasStatus_t mublasGemmEx(mublasHandle_t handle, mublasOperation_t transa, mublasOperation_t transb, int m, int n, int k,
                            const void* alpha, const void* a, musaDataType_t atype, int lda, const void* b,
                            musaDataType_t btype, int ldb, const void* beta, void* c, musaDataType_t ctype, int ldc,
                            musaDataType_t compute, mublasGemmAlgo_t) {
  const Mixed x{transa, transb, m, n, k, atype, lda, btype, ldb, ctype, ldc, compute};
  return mixed(handle, x, alpha, beta, 1, [=](int) { return at(a, b, c); });
}

mublasStatus_t mublasGemmBatchedEx(mublasHandle_t handle, mublasOperation_t transa, mublasOperation_t transb, int m, int n, int k,
                                   const void* alpha, const void* const a[], musaDataType_t atype, int lda,
                                   const void* const b[], musaDataType_t btype, int ldb, const void* beta, void* const c[],
                                   musaDataType_t ctype, int ldc, int batch, musaDataType_t compute, mublasGemmAlgo_t) {
  const Mixed x{transa, transb, m, n, k, atype, lda, btype, ldb, ctype, ldc, compute};
  return mixed(handle, x, alpha, beta, batch, [=](int i) { return at(a[i], b[i], c[i]); });
}

mublasStatus_t mublasGemmStridedBatchedEx(mublasHandle_t handle, mublasOperation_t transa, mublasOperation_t transb, int m, int n,
                                          int k, const void* alpha, const void* a, musaDataType_t atype, int lda,
                                          long long stridea, const void* b, musaDataType_t btype, int ldb, long long strideb,
                                          const void* beta, void* c, musaDataType_t ctype, int ldc, long long stridec,
                                          int batch, musaDataType_t compute, mublasGemmAlgo_t) {
  const Mixed x{transa, transb, m, n, k, atype, lda, btype, ldb, ctype, ldc, compute};
  const auto step = [](musaDataType_t type, long long stride) { return stride * static_cast<long long>(size_of(type)); };
  const One<char> first = at(a, b, c);
  return mixed(handle, x, alpha, beta, batch, [=](int i) {
    return One<char>{first.a + i * step(atype, stridea), first.b + i * step(btype, strideb), first.c + i * step(ctype, stridec)};
  });
}

mublasStatus_t mublasSgemmEx(mublasHandle_t handle, mublasOperation_t transa, mublasOperation_t transb, int m, int n, int k,
                             const float* alpha, const void* a, musaDataType_t atype, int lda, const void* b,
                             musaDataType_t btype, int ldb, const float* beta, void* c, musaDataType_t ctype, int ldc) {
  return mublasGemmEx(handle, transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c, ctype, ldc, MUSA_R_32F,
                      MUBLAS_GEMM_DEFAULT);
}

mublasStatus_t mublasHgemm(mublasHandle_t handle, mublasOperation_t transa, mublasOperation_t transb, int m, int n, int k,
                           const __half* alpha, const __half* a, int lda, const __half* b, int ldb, const __half* beta,
                           __half* c, int ldc) {
  return mublasGemmEx(handle, transa, transb, m, n, k, alpha, a, MUSA_R_16F, lda, b, MUSA_R_16F, ldb, beta, c, MUSA_R_16F, ldc,
                      MUSA_R_16F, MUBLAS_GEMM_DEFAULT);
}

mublasStatus_t mublasHgemmBatched(mublasHandle_t handle, mublasOperation_t transa, mublasOperation_t transb, int m, int n, int k,
                                  const __half* alpha, const __half* const a[], int lda, const __half* const b[], int ldb,
                                  const __half* beta, __half* const c[], int ldc, int batch) {
  return mublasGemmBatchedEx(handle, transa, transb, m, n, k, alpha, reinterpret_cast<const void* const*>(a), MUSA_R_16F, lda,
                             reinterpret_cast<const void* const*>(b), MUSA_R_16F, ldb, beta,
                             reinterpret_cast<void* const*>(c), MUSA_R_16F, ldc, batch, MUSA_R_16F, MUBLAS_GEMM_DEFAULT);
}

mublasStatus_t mublasHgemmStridedBatched(mublasHandle_t handle, mublasOperation_t transa, mublasOperation_t transb, int m, int n,
                                         int k, const __half* alpha, const __half* a, int lda, long long stridea,
                                         const __half* b, int ldb, long long strideb, const __half* beta, __half* c, int ldc,
                                         long long stridec, int batch) {
  return mublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, a, MUSA_R_16F, lda, stridea, b, MUSA_R_16F, ldb,
                                    strideb, beta, c, MUSA_R_16F, ldc, stridec, batch, MUSA_R_16F, MUBLAS_GEMM_DEFAULT);
}
