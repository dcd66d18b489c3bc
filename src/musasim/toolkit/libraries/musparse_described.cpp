// The older functions of libmusparse.so, whose matrices are arrays with a description. Sums are in double.
#include <algorithm>
#include <map>
#include <utility>

#include "blas.h"
#include "musparse_handle.h"

using namespace musasim;

struct musparseMatDescr {
  musparseMatrixType_t type = MUSPARSE_MATRIX_TYPE_GENERAL;
  musparseFillMode_t fill = MUSPARSE_FILL_MODE_LOWER;
  musparseDiagType_t diagonal = MUSPARSE_DIAG_TYPE_NON_UNIT;
  musparseIndexBase_t base = MUSPARSE_INDEX_BASE_ZERO;
};
// The first row of blocks whose triangle has a zero on its diagonal, or -1.
struct bsrsv2Info {
  int zero = -1;
};
struct bsrsm2Info : bsrsv2Info {};

namespace {

template <class T>
using Wide = std::conditional_t<is_complex<T>, std::complex<double>, double>;

template <class T>
Wide<T> wide(const T& value) {
  return static_cast<Wide<T>>(number(value));
}
template <class T>
T narrow(const Wide<T>& value) {
  return stored<T>(static_cast<Number<T>>(value));
}

template <class Object, class Value>
musparseStatus_t set(Object* object, Value Object::* member, Value value) {
  if (object == nullptr) return MUSPARSE_STATUS_INVALID_VALUE;
  object->*member = value;
  return MUSPARSE_STATUS_SUCCESS;
}
template <class Object>
musparseStatus_t make(Object** made) {
  if (made == nullptr) return MUSPARSE_STATUS_INVALID_VALUE;
  *made = new Object;
  return MUSPARSE_STATUS_SUCCESS;
}
template <class Object>
musparseStatus_t destroy(Object* object) {
  delete object;
  return MUSPARSE_STATUS_SUCCESS;
}

template <class T>
Scalar<T> scalar(musparseHandle_t handle, const T* place) {
  return {place, handle->pointers == MUSPARSE_POINTER_MODE_DEVICE};
}

// --- sums of two matrices ----------------------------------------------------------------------------------------------------------

// A CSR matrix's structure; its values may be lacking.
template <class T>
struct Rows {
  const T* values;
  const int *offsets, *columns;
  int base;

  // Adds factor times a row to `sums`, by column.
  void add(int row, Wide<T> factor, std::map<int, Wide<T>>& sums) const {
    for (int i = offsets[row] - base; i < offsets[row + 1] - base; ++i) {
      sums[columns[i] - base] += values == nullptr ? Wide<T>{} : factor * wide(values[i]);
    }
  }
};

template <class T>
musparseStatus_t sum(musparseHandle_t handle, int rows, const T* alpha, const Rows<T>& a, const T* beta, const Rows<T>& b,
                     int base, T* values, int* offsets, int* columns) {
  const auto first = scalar(handle, alpha), second = scalar(handle, beta);
  return as_status(in_stream(handle->stream, [=] {
    int place = 0;
    for (int row = 0; row < rows; ++row) {
      std::map<int, Wide<T>> sums;
      a.add(row, wide(first()), sums);
      b.add(row, wide(second()), sums);
      offsets[row] = place + base;
      for (const auto& [column, value] : sums) {
        columns[place] = column + base;
        values[place++] = narrow<T>(value);
      }
    }
    offsets[rows] = place + base;
  }));
}

// --- matrices of blocks ------------------------------------------------------------------------------------------------------------

template <class T>
struct Blocks {
  const T* values;
  const int *offsets, *indices;
  int rows, size, base;
  bool by_row;

  // Calls function(row, column, value) for each number.
  template <class Function>
  void each(Function function) const {
    for (int row = 0; row < rows; ++row) {
      for (int i = offsets[row] - base; i < offsets[row + 1] - base; ++i) each_of_block(row, i, function);
    }
  }

 private:
  template <class Function>
  void each_of_block(int row, int i, Function& function) const {
    const T* const block = values + static_cast<size_t>(i) * size * size;
    for (int y = 0; y < size; ++y) {
      for (int x = 0; x < size; ++x) {
        function(row * size + y, (indices[i] - base) * size + x, wide(block[by_row ? y * size + x : x * size + y]));
      }
    }
  }
};

template <class T>
Blocks<T> blocks(musparseDirection_t direction, int rows, const musparseMatDescr_t a, const T* values, const int* offsets,
                 const int* indices, int block) {
  return {values, offsets, indices, rows, block, a->base, direction == MUSPARSE_DIRECTION_ROW};
}

// A dense matrix by columns, or its transpose.
template <class T>
struct Matrix {
  T* values;
  int ld;
  bool transposed;

  T& at(int i, int j) const { return transposed ? values[j + static_cast<size_t>(i) * ld] : values[i + static_cast<size_t>(j) * ld]; }
};

// c = alpha a b + beta c, with n columns
template <class T>
musparseStatus_t product(musparseHandle_t handle, const Blocks<T>& a, const Matrix<const T>& b, const Matrix<T>& c, int n,
                         const T* alpha, const T* beta) {
  const auto first = scalar(handle, alpha), second = scalar(handle, beta);
  return as_status(in_stream(handle->stream, [=] {
    std::vector<Wide<T>> sums(static_cast<size_t>(a.rows) * a.size * n);
    a.each([&](int row, int column, Wide<T> value) {
      for (int j = 0; j < n; ++j) sums[static_cast<size_t>(row) * n + j] += value * wide(b.at(column, j));
    });
    const Wide<T> kept = wide(second());
    for (int i = 0; i < a.rows * a.size; ++i) {
      for (int j = 0; j < n; ++j) {
        const Wide<T> before = kept == 0.0 ? Wide<T>{} : kept * wide(c.at(i, j));
        c.at(i, j) = narrow<T>(wide(first()) * sums[static_cast<size_t>(i) * n + j] + before);
      }
    }
  }));
}

musparseStatus_t general(musparseHandle_t handle, const musparseMatDescr_t a) {
  if (handle == nullptr) return MUSPARSE_STATUS_NOT_INITIALIZED;
  if (a == nullptr) return MUSPARSE_STATUS_INVALID_VALUE;
  return a->type == MUSPARSE_MATRIX_TYPE_GENERAL ? MUSPARSE_STATUS_SUCCESS : MUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
}

// --- triangles of such matrices ----------------------------------------------------------------------------------------------------

// The triangle of op(A) that its description names: what stands beside the diagonal, row by row, and the diagonal.
template <class T>
struct Triangle {
  std::vector<std::vector<std::pair<int, Wide<T>>>> rows;
  std::vector<Wide<T>> diagonal;
  bool upper;

  Triangle(const Blocks<T>& a, musparseOperation_t op, const musparseMatDescr& described)
      : rows(static_cast<size_t>(a.rows) * a.size), diagonal(rows.size()), upper(described.fill == MUSPARSE_FILL_MODE_UPPER) {
    a.each([&](int row, int column, Wide<T> value) {
      if (row == column) diagonal[row] = conjugated(value, op);
      else if ((row < column) == upper) add(row, column, conjugated(value, op), op != MUSPARSE_OPERATION_NON_TRANSPOSE);
    });
    if (described.diagonal == MUSPARSE_DIAG_TYPE_UNIT) diagonal.assign(rows.size(), Wide<T>{1});
    if (op != MUSPARSE_OPERATION_NON_TRANSPOSE) upper = !upper;
  }
  int first_zero(int block) const {
    const auto found = std::find(diagonal.begin(), diagonal.end(), Wide<T>{});
    return found == diagonal.end() ? -1 : static_cast<int>(found - diagonal.begin()) / block;
  }
  // Divides a column by the triangle, in its place.
  void solve(std::vector<Wide<T>>& x) const {
    const int n = static_cast<int>(x.size());
    for (int step = 0; step < n; ++step) {
      const int row = upper ? n - 1 - step : step;
      for (const auto& [column, value] : rows[row]) x[row] -= value * x[column];
      x[row] /= diagonal[row];
    }
  }

 private:
  static Wide<T> conjugated(Wide<T> value, musparseOperation_t op) {
    if constexpr (is_complex<T>) return op == MUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? std::conj(value) : value;
    else return value;
  }
  void add(int row, int column, Wide<T> value, bool transposed) {
    rows[transposed ? column : row].emplace_back(transposed ? row : column, value);
  }
};

template <class T>
musparseStatus_t analyse(musparseHandle_t handle, const Blocks<T>& a, musparseOperation_t op, const musparseMatDescr& described,
                         bsrsv2Info* info) {
  return as_status(in_stream(handle->stream, [=] { info->zero = Triangle<T>(a, op, described).first_zero(a.size); }));
}

template <class T>
musparseStatus_t solve(musparseHandle_t handle, const Blocks<T>& a, musparseOperation_t op, const musparseMatDescr& described,
                       bsrsv2Info* info, const T* alpha, const Matrix<const T>& b, const Matrix<T>& x, int n) {
  const auto factor = scalar(handle, alpha);
  return as_status(in_stream(handle->stream, [=] {
    const Triangle<T> triangle(a, op, described);
    info->zero = triangle.first_zero(a.size);
    std::vector<Wide<T>> column(triangle.rows.size());
    for (int j = 0; j < n; ++j) {
      for (size_t i = 0; i < column.size(); ++i) column[i] = wide(factor()) * wide(b.at(static_cast<int>(i), j));
      triangle.solve(column);
      for (size_t i = 0; i < column.size(); ++i) x.at(static_cast<int>(i), j) = narrow<T>(column[i]);
    }
  }));
}

musparseStatus_t zero_pivot(musparseHandle_t handle, const bsrsv2Info* info, int* position) {
  if (handle == nullptr) return MUSPARSE_STATUS_NOT_INITIALIZED;
  if (info == nullptr || position == nullptr) return MUSPARSE_STATUS_INVALID_VALUE;
  musaStreamSynchronize(handle->stream);
  *position = info->zero;
  return info->zero < 0 ? MUSPARSE_STATUS_SUCCESS : MUSPARSE_STATUS_ZERO_PIVOT;
}

// --- numbers other than zero -------------------------------------------------------------------------------------------------------

template <class T>
musparseStatus_t count(musparseHandle_t handle, bool by_row, int rows, int columns, const T* values, int ld, int* counts, int* total) {
  return as_status(in_stream(handle->stream, [=] {
    *total = 0;
    std::fill(counts, counts + (by_row ? rows : columns), 0);
    for (int j = 0; j < columns; ++j) {
      for (int i = 0; i < rows; ++i) {
        const bool is_there = wide(values[i + static_cast<size_t>(j) * ld]) != 0.0;
        counts[by_row ? i : j] += is_there;
        *total += is_there;
      }
    }
  }));
}

}  // namespace

#define MUST(condition, status) \
  if (!(condition)) return MUSPARSE_STATUS_##status
#define MUST_BE_GENERAL(a) \
  if (const auto status = general(handle, a)) return status

musparseStatus_t musparseCreateMatDescr(musparseMatDescr_t* matrix) { return make(matrix); }
musparseStatus_t musparseDestroyMatDescr(musparseMatDescr_t matrix) { return destroy(matrix); }
musparseStatus_t musparseSetMatType(musparseMatDescr_t matrix, musparseMatrixType_t type) {
  return set(matrix, &musparseMatDescr::type, type);
}
musparseMatrixType_t musparseGetMatType(const musparseMatDescr_t matrix) { return matrix->type; }
musparseStatus_t musparseSetMatFillMode(musparseMatDescr_t matrix, musparseFillMode_t mode) {
  return set(matrix, &musparseMatDescr::fill, mode);
}
musparseFillMode_t musparseGetMatFillMode(const musparseMatDescr_t matrix) { return matrix->fill; }
musparseStatus_t musparseSetMatDiagType(musparseMatDescr_t matrix, musparseDiagType_t type) {
  return set(matrix, &musparseMatDescr::diagonal, type);
}
musparseDiagType_t musparseGetMatDiagType(const musparseMatDescr_t matrix) { return matrix->diagonal; }
musparseStatus_t musparseSetMatIndexBase(musparseMatDescr_t matrix, musparseIndexBase_t base) {
  return set(matrix, &musparseMatDescr::base, base);
}
musparseIndexBase_t musparseGetMatIndexBase(const musparseMatDescr_t matrix) { return matrix->base; }

musparseStatus_t musparseCreateBsrsv2Info(bsrsv2Info_t* info) { return make(info); }
musparseStatus_t musparseDestroyBsrsv2Info(bsrsv2Info_t info) { return destroy(info); }
musparseStatus_t musparseXbsrsv2_zeroPivot(musparseHandle_t handle, bsrsv2Info_t info, int* position) {
  return zero_pivot(handle, info, position);
}
musparseStatus_t musparseCreateBsrsm2Info(bsrsm2Info_t* info) { return make(info); }
musparseStatus_t musparseDestroyBsrsm2Info(bsrsm2Info_t info) { return destroy(info); }
musparseStatus_t musparseXbsrsm2_zeroPivot(musparseHandle_t handle, bsrsm2Info_t info, int* position) {
  return zero_pivot(handle, info, position);
}

musparseStatus_t musparseXcsrgeam2Nnz(musparseHandle_t handle, int rows, int, const musparseMatDescr_t a, int, const int* a_offsets,
                                      const int* a_columns, const musparseMatDescr_t b, int, const int* b_offsets,
                                      const int* b_columns, const musparseMatDescr_t c, int* c_offsets, int* nnz, void*) {
  MUST_BE_GENERAL(a);
  MUST_BE_GENERAL(b);
  MUST_BE_GENERAL(c);
  MUST(nnz != nullptr, INVALID_VALUE);
  const Rows<double> first{nullptr, a_offsets, a_columns, a->base}, second{nullptr, b_offsets, b_columns, b->base};
  const int base = c->base;
  return as_status(in_stream(handle->stream, [=] {
    c_offsets[0] = base;
    for (int row = 0; row < rows; ++row) {
      std::map<int, double> found;
      first.add(row, 0, found);
      second.add(row, 0, found);
      c_offsets[row + 1] = c_offsets[row] + static_cast<int>(found.size());
    }
    *nnz = c_offsets[rows] - base;
  }));
}

#define DESCRIBED(letter, T)                                                                                                        \
  musparseStatus_t musparse##letter##csrgeam2_bufferSizeExt(                                                                        \
      musparseHandle_t, int, int, const T*, const musparseMatDescr_t, int, const T*, const int*, const int*, const T*,              \
      const musparseMatDescr_t, int, const T*, const int*, const int*, const musparseMatDescr_t, const T*, const int*, const int*,  \
      size_t* bytes) {                                                                                                              \
    *bytes = 0;                                                                                                                     \
    return MUSPARSE_STATUS_SUCCESS;                                                                                                 \
  }                                                                                                                                 \
  musparseStatus_t musparse##letter##csrgeam2(                                                                                      \
      musparseHandle_t handle, int rows, int, const T* alpha, const musparseMatDescr_t a, int, const T* a_values,                   \
      const int* a_offsets, const int* a_columns, const T* beta, const musparseMatDescr_t b, int, const T* b_values,                \
      const int* b_offsets, const int* b_columns, const musparseMatDescr_t c, T* c_values, int* c_offsets, int* c_columns, void*) { \
    MUST_BE_GENERAL(a);                                                                                                             \
    MUST_BE_GENERAL(b);                                                                                                             \
    MUST_BE_GENERAL(c);                                                                                                             \
    MUST(alpha != nullptr && beta != nullptr, INVALID_VALUE);                                                                       \
    const Rows<T> first{a_values, a_offsets, a_columns, a->base}, second{b_values, b_offsets, b_columns, b->base};                  \
    return sum<T>(handle, rows, alpha, first, beta, second, c->base, c_values, c_offsets, c_columns);                               \
  }                                                                                                                                 \
  musparseStatus_t musparse##letter##bsrmv(                                                                                         \
      musparseHandle_t handle, musparseDirection_t direction, musparseOperation_t op, int rows, int columns, int nnz,               \
      const T* alpha, const musparseMatDescr_t a, const T* values, const int* offsets, const int* indices, int block, const T* x,   \
      const T* beta, T* y) {                                                                                                        \
    return musparse##letter##bsrmm(handle, direction, op, MUSPARSE_OPERATION_NON_TRANSPOSE, rows, 1, columns, nnz, alpha, a,        \
                                   values, offsets, indices, block, x, columns * block, beta, y, rows * block);                     \
  }                                                                                                                                 \
  musparseStatus_t musparse##letter##bsrmm(                                                                                         \
      musparseHandle_t handle, musparseDirection_t direction, musparseOperation_t opa, musparseOperation_t opb, int rows, int n,    \
      int, int, const T* alpha, const musparseMatDescr_t a, const T* values, const int* offsets, const int* indices, int block,     \
      const T* b, int ldb, const T* beta, T* c, int ldc) {                                                                          \
    MUST_BE_GENERAL(a);                                                                                                             \
    MUST(alpha != nullptr && beta != nullptr && block > 0, INVALID_VALUE);                                                          \
    MUST(opa == MUSPARSE_OPERATION_NON_TRANSPOSE && opb != MUSPARSE_OPERATION_CONJUGATE_TRANSPOSE, NOT_SUPPORTED);                  \
    const auto given = blocks(direction, rows, a, values, offsets, indices, block);                                                 \
    const Matrix<const T> right{b, ldb, opb == MUSPARSE_OPERATION_TRANSPOSE};                                                       \
    return product<T>(handle, given, right, Matrix<T>{c, ldc, false}, n, alpha, beta);                                              \
  }                                                                                                                                 \
  musparseStatus_t musparse##letter##bsrsv2_bufferSize(musparseHandle_t, musparseDirection_t, musparseOperation_t, int, int,        \
                                                       const musparseMatDescr_t, T*, const int*, const int*, int, bsrsv2Info_t,     \
                                                       int* bytes) {                                                                \
    *bytes = 0;                                                                                                                     \
    return MUSPARSE_STATUS_SUCCESS;                                                                                                 \
  }                                                                                                                                 \
  musparseStatus_t musparse##letter##bsrsv2_analysis(                                                                               \
      musparseHandle_t handle, musparseDirection_t direction, musparseOperation_t op, int rows, int, const musparseMatDescr_t a,    \
      const T* values, const int* offsets, const int* indices, int block, bsrsv2Info_t info, musparseSolvePolicy_t, void*) {        \
    MUST_BE_GENERAL(a);                                                                                                             \
    MUST(info != nullptr && block > 0, INVALID_VALUE);                                                                              \
    return analyse(handle, blocks(direction, rows, a, values, offsets, indices, block), op, *a, info);                              \
  }                                                                                                                                 \
  musparseStatus_t musparse##letter##bsrsv2_solve(                                                                                  \
      musparseHandle_t handle, musparseDirection_t direction, musparseOperation_t op, int rows, int, const T* alpha,                \
      const musparseMatDescr_t a, const T* values, const int* offsets, const int* indices, int block, bsrsv2Info_t info,            \
      const T* x, T* y, musparseSolvePolicy_t, void*) {                                                                             \
    MUST_BE_GENERAL(a);                                                                                                             \
    MUST(info != nullptr && alpha != nullptr && block > 0, INVALID_VALUE);                                                          \
    const auto given = blocks(direction, rows, a, values, offsets, indices, block);                                                 \
    return solve<T>(handle, given, op, *a, info, alpha, {x, rows * block, false}, {y, rows * block, false}, 1);                     \
  }                                                                                                                                 \
  musparseStatus_t musparse##letter##bsrsm2_bufferSize(musparseHandle_t, musparseDirection_t, musparseOperation_t,                  \
                                                       musparseOperation_t, int, int, int, const musparseMatDescr_t, T*,            \
                                                       const int*, const int*, int, bsrsm2Info_t, int* bytes) {                     \
    *bytes = 0;                                                                                                                     \
    return MUSPARSE_STATUS_SUCCESS;                                                                                                 \
  }                                                                                                                                 \
  musparseStatus_t musparse##letter##bsrsm2_analysis(                                                                               \
      musparseHandle_t handle, musparseDirection_t direction, musparseOperation_t opa, musparseOperation_t, int rows, int, int,     \
      const musparseMatDescr_t a, const T* values, const int* offsets, const int* indices, int block, bsrsm2Info_t info,            \
      musparseSolvePolicy_t, void*) {                                                                                               \
    MUST_BE_GENERAL(a);                                                                                                             \
    MUST(info != nullptr && block > 0, INVALID_VALUE);                                                                              \
    return analyse(handle, blocks(direction, rows, a, values, offsets, indices, block), opa, *a, info);                             \
  }                                                                                                                                 \
  musparseStatus_t musparse##letter##bsrsm2_solve(                                                                                  \
      musparseHandle_t handle, musparseDirection_t direction, musparseOperation_t opa, musparseOperation_t opx, int rows, int n,    \
      int, const T* alpha, const musparseMatDescr_t a, const T* values, const int* offsets, const int* indices, int block,          \
      bsrsm2Info_t info, const T* b, int ldb, T* x, int ldx, musparseSolvePolicy_t, void*) {                                        \
    MUST_BE_GENERAL(a);                                                                                                             \
    MUST(info != nullptr && alpha != nullptr && block > 0, INVALID_VALUE);                                                          \
    MUST(opx != MUSPARSE_OPERATION_CONJUGATE_TRANSPOSE, NOT_SUPPORTED);                                                             \
    const auto given = blocks(direction, rows, a, values, offsets, indices, block);                                                 \
    const bool transposed = opx == MUSPARSE_OPERATION_TRANSPOSE;                                                                    \
    return solve<T>(handle, given, opa, *a, info, alpha, {b, ldb, transposed}, {x, ldx, transposed}, n);                            \
  }                                                                                                                                 \
  musparseStatus_t musparse##letter##nnz(musparseHandle_t handle, musparseDirection_t direction, int rows, int columns,             \
                                         const musparseMatDescr_t a, const T* values, int ld, int* counts, int* total) {            \
    MUST_BE_GENERAL(a);                                                                                                             \
    MUST(ld >= rows && total != nullptr, INVALID_VALUE);                                                                            \
    return count(handle, direction == MUSPARSE_DIRECTION_ROW, rows, columns, values, ld, counts, total);                            \
  }

DESCRIBED(S, float)
DESCRIBED(D, double)
DESCRIBED(C, muComplex)
DESCRIBED(Z, muDoubleComplex)
