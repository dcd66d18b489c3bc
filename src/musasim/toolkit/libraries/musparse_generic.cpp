// The generic functions of libmusparse.so besides products with dense matrices: conversions, sums, triangles, products of two sparse
// matrices. Sizes of buffers are 0.
#include <algorithm>
#include <map>
#include <numeric>

#include "musparse_matrices.h"

using namespace musasim;

struct musparseSpVecDescr {
  long long size, nnz;
  void *indices, *values;
  musparseIndexType_t index_type;
  int base;
  musaDataType type;

  long long place(long long i) const { return index(index_type, indices, i) - base; }
};
struct musparseSpSVDescr {};
struct musparseSpSMDescr {};
// What a product has found, row by row.
struct musparseSpGEMMDescr {
  std::vector<std::map<long long, Wide>> rows;
};

namespace {

#define MUST(condition, status) \
  if (!(condition)) return MUSPARSE_STATUS_##status

void write_index(musparseIndexType_t type, void* data, long long i, long long value) {
  switch (type) {
    case MUSPARSE_INDEX_16U: static_cast<unsigned short*>(data)[i] = static_cast<unsigned short>(value); break;
    case MUSPARSE_INDEX_32I: static_cast<int*>(data)[i] = static_cast<int>(value); break;
    default: static_cast<long long*>(data)[i] = value;
  }
}

// Alpha and beta: read now, or when the work is done, where the handle says that they lie on the device.
struct Factor {
  musaDataType type;
  const void* place;
  Wide value;

  Factor(musparseHandle_t handle, musaDataType type, const void* place)
      : type(type), place(handle->pointers == MUSPARSE_POINTER_MODE_DEVICE ? place : nullptr),
        value(this->place ? Wide{} : read(type, place, 0)) {}
  Wide operator()() const { return place ? read(type, place, 0) : value; }
};

musparseStatus_t nothing_needed(size_t* bytes) {
  MUST(bytes, INVALID_VALUE);
  *bytes = 0;
  return MUSPARSE_STATUS_SUCCESS;
}

template <class Object>
musparseStatus_t make(Object** made) {
  MUST(made, INVALID_VALUE);
  *made = new Object;
  return MUSPARSE_STATUS_SUCCESS;
}

// Calls function(row, column, value) for each number of a dense matrix other than zero, row by row.
template <class Function>
void each_other_than_zero(const Dense& a, Function function) {
  for (long long i = 0; i < a.rows; ++i) {
    for (long long j = 0; j < a.columns; ++j) {
      if (const Wide value = a.at(i, j); value != 0.0) function(i, j, value);
    }
  }
}

Dense plain(const musparseDnMatDescr& a) { return dense(a, MUSPARSE_OPERATION_NON_TRANSPOSE); }

// The rows of op(A)'s triangle beside its diagonal, and the diagonal.
struct Triangle {
  std::vector<std::vector<std::pair<long long, Wide>>> rows;
  std::vector<Wide> diagonal;
  bool upper;

  Triangle(const musparseSpMatDescr& a, musparseOperation_t op)
      : rows(static_cast<size_t>(a.rows)), diagonal(rows.size()), upper(a.fill == MUSPARSE_FILL_MODE_UPPER) {
    each_value(a, [&](long long row, long long column, Wide value) {
      if (op == MUSPARSE_OPERATION_CONJUGATE_TRANSPOSE) value = std::conj(value);
      if (row == column) diagonal[row] = value;
      else if ((row < column) == upper) op == MUSPARSE_OPERATION_NON_TRANSPOSE ? add(row, column, value) : add(column, row, value);
    });
    if (a.diagonal == MUSPARSE_DIAG_TYPE_UNIT) diagonal.assign(rows.size(), Wide{1});
    if (op != MUSPARSE_OPERATION_NON_TRANSPOSE) upper = !upper;
  }
  void add(long long row, long long column, Wide value) { rows[row].emplace_back(column, value); }
  void solve(std::vector<Wide>& x) const {
    const auto n = static_cast<long long>(x.size());
    for (long long step = 0; step < n; ++step) {
      const long long row = upper ? n - 1 - step : step;
      for (const auto& [column, value] : rows[row]) x[row] -= value * x[column];
      x[row] /= diagonal[row];
    }
  }
};

musparseStatus_t solve(musparseHandle_t handle, const musparseSpMatDescr& a, musparseOperation_t op, const Dense& b, const Dense& c,
                       const void* alpha, musaDataType compute) {
  MUST(a.rows == a.columns && b.rows == a.rows && c.rows == a.rows && b.columns == c.columns, INVALID_VALUE);
  const Factor factor(handle, compute, alpha);
  return as_status(in_stream(handle->stream, [=] {
    const Triangle triangle(a, op);
    std::vector<Wide> column(static_cast<size_t>(a.rows));
    for (long long j = 0; j < b.columns; ++j) {
      for (long long i = 0; i < a.rows; ++i) column[i] = factor() * b.at(i, j);
      triangle.solve(column);
      for (long long i = 0; i < a.rows; ++i) write(c.type, c.values, c.place(i, j), column[i]);
    }
  }));
}

// The rows of alpha A B.
std::vector<std::map<long long, Wide>> product(const musparseSpMatDescr& a, const musparseSpMatDescr& b, Wide alpha) {
  std::vector<std::vector<std::pair<long long, Wide>>> rows(static_cast<size_t>(b.rows));
  each_value(b, [&](long long row, long long column, Wide value) { rows[row].emplace_back(column, value); });
  std::vector<std::map<long long, Wide>> sums(static_cast<size_t>(a.rows));
  each_value(a, [&](long long row, long long column, Wide value) {
    for (const auto& [to, other] : rows[column]) sums[row][to] += alpha * value * other;
  });
  return sums;
}

}  // namespace

// --- sparse vectors ------------------------------------------------------------------------------------------------------------------

musparseStatus_t musparseCreateSpVec(musparseSpVecDescr_t* vector, int64_t size, int64_t nnz, void* indices, void* values,
                                     musparseIndexType_t index_type, musparseIndexBase_t base, musaDataType type) {
  MUST(vector && size >= 0 && nnz >= 0 && nnz <= size, INVALID_VALUE);
  *vector = new musparseSpVecDescr{size, nnz, indices, values, index_type, base, type};
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseDestroySpVec(musparseSpVecDescr_t vector) {
  delete vector;
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseAxpby(musparseHandle_t handle, const void* alpha, musparseSpVecDescr_t x, const void* beta,
                               musparseDnVecDescr_t y) {
  MUST(handle, NOT_INITIALIZED);
  MUST(alpha && beta && x && y && x->size == y->size, INVALID_VALUE);
  const Factor first(handle, x->type, alpha), second(handle, x->type, beta);
  return as_status(in_stream(handle->stream, [=, x = *x, y = *y] {
    for (long long i = 0; i < y.size; ++i) write(y.type, y.values, i, second() * read(y.type, y.values, i));
    for (long long i = 0; i < x.nnz; ++i) {
      const Wide sum = read(y.type, y.values, x.place(i)) + first() * read(x.type, x.values, i);
      write(y.type, y.values, x.place(i), sum);
    }
  }));
}
musparseStatus_t musparseGather(musparseHandle_t handle, musparseDnVecDescr_t y, musparseSpVecDescr_t x) {
  MUST(handle, NOT_INITIALIZED);
  MUST(x && y && x->size == y->size, INVALID_VALUE);
  return as_status(in_stream(handle->stream, [x = *x, y = *y] {
    for (long long i = 0; i < x.nnz; ++i) write(x.type, x.values, i, read(y.type, y.values, x.place(i)));
  }));
}
musparseStatus_t musparseScatter(musparseHandle_t handle, musparseSpVecDescr_t x, musparseDnVecDescr_t y) {
  MUST(handle, NOT_INITIALIZED);
  MUST(x && y && x->size == y->size, INVALID_VALUE);
  return as_status(in_stream(handle->stream, [x = *x, y = *y] {
    for (long long i = 0; i < x.nnz; ++i) write(y.type, y.values, x.place(i), read(x.type, x.values, i));
  }));
}

// --- descriptions ----------------------------------------------------------------------------------------------------------------------

musparseStatus_t musparseSpMatGetSize(musparseSpMatDescr_t matrix, int64_t* rows, int64_t* columns, int64_t* nnz) {
  MUST(matrix && rows && columns && nnz, INVALID_VALUE);
  *rows = matrix->rows;
  *columns = matrix->columns;
  *nnz = matrix->nnz;
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseCsrSetPointers(musparseSpMatDescr_t matrix, void* offsets, void* indices, void* values) {
  MUST(matrix && matrix->compressed && offsets, INVALID_VALUE);
  matrix->offsets = offsets;
  matrix->indices = indices;
  matrix->values = values;
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseSpMatSetAttribute(musparseSpMatDescr_t matrix, musparseSpMatAttribute_t attribute, void* data, size_t bytes) {
  MUST(matrix && data && bytes == sizeof(int), INVALID_VALUE);
  if (attribute == MUSPARSE_SPMAT_FILL_MODE) matrix->fill = *static_cast<musparseFillMode_t*>(data);
  else matrix->diagonal = *static_cast<musparseDiagType_t*>(data);
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseSpMatGetAttribute(musparseSpMatDescr_t matrix, musparseSpMatAttribute_t attribute, void* data, size_t bytes) {
  MUST(matrix && data && bytes == sizeof(int), INVALID_VALUE);
  *static_cast<int*>(data) = attribute == MUSPARSE_SPMAT_FILL_MODE ? int(matrix->fill) : int(matrix->diagonal);
  return MUSPARSE_STATUS_SUCCESS;
}

// --- conversions -----------------------------------------------------------------------------------------------------------------------

musparseStatus_t musparseDenseToSparse_bufferSize(musparseHandle_t, musparseDnMatDescr_t, musparseSpMatDescr_t,
                                                  musparseDenseToSparseAlg_t, size_t* bytes) {
  return nothing_needed(bytes);
}
musparseStatus_t musparseDenseToSparse_analysis(musparseHandle_t handle, musparseDnMatDescr_t from, musparseSpMatDescr_t to,
                                                musparseDenseToSparseAlg_t, void*) {
  MUST(handle, NOT_INITIALIZED);
  MUST(from && to && from->rows == to->rows && from->columns == to->columns, INVALID_VALUE);
  return as_status(in_stream(handle->stream, [to, a = plain(*from)] {
    std::vector<long long> ends(static_cast<size_t>(to->rows) + 1);
    each_other_than_zero(a, [&](long long row, long long, Wide) { ++ends[row + 1]; });
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    to->nnz = ends.back();
    for (size_t row = 0; to->compressed && row < ends.size(); ++row) {
      write_index(to->offset_type, to->offsets, static_cast<long long>(row), ends[row] + to->base);
    }
  }));
}
musparseStatus_t musparseDenseToSparse_convert(musparseHandle_t handle, musparseDnMatDescr_t from, musparseSpMatDescr_t to,
                                               musparseDenseToSparseAlg_t, void*) {
  MUST(handle, NOT_INITIALIZED);
  MUST(from && to && to->indices && to->values, INVALID_VALUE);
  return as_status(in_stream(handle->stream, [to = *to, a = plain(*from)] {
    long long place = 0;
    each_other_than_zero(a, [&](long long row, long long column, Wide value) {
      if (!to.compressed) write_index(to.offset_type, to.offsets, place, row + to.base);
      write_index(to.index_type, to.indices, place, column + to.base);
      write(to.type, to.values, place++, value);
    });
  }));
}
musparseStatus_t musparseSparseToDense_bufferSize(musparseHandle_t, musparseSpMatDescr_t, musparseDnMatDescr_t,
                                                  musparseSparseToDenseAlg_t, size_t* bytes) {
  return nothing_needed(bytes);
}
musparseStatus_t musparseSparseToDense(musparseHandle_t handle, musparseSpMatDescr_t from, musparseDnMatDescr_t to,
                                       musparseSparseToDenseAlg_t, void*) {
  MUST(handle, NOT_INITIALIZED);
  MUST(from && to && from->rows == to->rows && from->columns == to->columns, INVALID_VALUE);
  return as_status(in_stream(handle->stream, [from = *from, c = plain(*to)] {
    for (long long i = 0; i < c.rows; ++i) {
      for (long long j = 0; j < c.columns; ++j) write(c.type, c.values, c.place(i, j), 0.0);
    }
    each_value(from, [&](long long i, long long j, Wide value) { write(c.type, c.values, c.place(i, j), value); });
  }));
}
musparseStatus_t musparseCsr2cscEx2_bufferSize(musparseHandle_t, int, int, int, const void*, const int*, const int*, void*, int*, int*,
                                               musaDataType, musparseAction_t, musparseIndexBase_t, musparseCsr2CscAlg_t,
                                               size_t* bytes) {
  return nothing_needed(bytes);
}
musparseStatus_t musparseCsr2cscEx2(musparseHandle_t handle, int rows, int columns, int nnz, const void* values, const int* offsets,
                                    const int* indices, void* out_values, int* out_offsets, int* out_indices, musaDataType type,
                                    musparseAction_t action, musparseIndexBase_t base, musparseCsr2CscAlg_t, void*) {
  MUST(handle, NOT_INITIALIZED);
  return as_status(in_stream(handle->stream, [=] {
    std::vector<int> next(static_cast<size_t>(columns) + 1);
    for (int i = 0; i < nnz; ++i) ++next[indices[i] - base + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (int column = 0; column <= columns; ++column) out_offsets[column] = next[column] + base;
    for (int row = 0; row < rows; ++row) {
      for (int i = offsets[row] - base; i < offsets[row + 1] - base; ++i) {
        const int place = next[indices[i] - base]++;
        out_indices[place] = row + base;
        if (action == MUSPARSE_ACTION_NUMERIC) write(type, out_values, place, read(type, values, i));
      }
    }
  }));
}
musparseStatus_t musparseCreateIdentityPermutation(musparseHandle_t handle, int n, int* permutation) {
  MUST(handle, NOT_INITIALIZED);
  return as_status(in_stream(handle->stream, [=] { std::iota(permutation, permutation + n, 0); }));
}
musparseStatus_t musparseXcsrsort_bufferSizeExt(musparseHandle_t, int, int, int, const int*, const int*, size_t* bytes) {
  return nothing_needed(bytes);
}
musparseStatus_t musparseXcsrsort(musparseHandle_t handle, int rows, int, int, const musparseMatDescr_t a, const int* offsets,
                                  int* indices, int* permutation, void*) {
  MUST(handle, NOT_INITIALIZED);
  MUST(a && offsets && indices, INVALID_VALUE);
  const int base = musparseGetMatIndexBase(a);
  return as_status(in_stream(handle->stream, [=] {
    for (int row = 0; row < rows; ++row) {
      std::vector<std::pair<int, int>> found;
      for (int i = offsets[row] - base; i < offsets[row + 1] - base; ++i) found.emplace_back(indices[i], permutation ? permutation[i] : 0);
      std::stable_sort(found.begin(), found.end(), [](const auto& one, const auto& other) { return one.first < other.first; });
      for (size_t i = 0; i < found.size(); ++i) {
        indices[offsets[row] - base + i] = found[i].first;
        if (permutation) permutation[offsets[row] - base + i] = found[i].second;
      }
    }
  }));
}

// --- products and triangles --------------------------------------------------------------------------------------------------------------

musparseStatus_t musparseSDDMM_bufferSize(musparseHandle_t, musparseOperation_t, musparseOperation_t, const void*, musparseDnMatDescr_t,
                                          musparseDnMatDescr_t, const void*, musparseSpMatDescr_t, musaDataType, musparseSDDMMAlg_t,
                                          size_t* bytes) {
  return nothing_needed(bytes);
}
musparseStatus_t musparseSDDMM_preprocess(musparseHandle_t handle, musparseOperation_t, musparseOperation_t, const void*,
                                          musparseDnMatDescr_t, musparseDnMatDescr_t, const void*, musparseSpMatDescr_t, musaDataType,
                                          musparseSDDMMAlg_t, void*) {
  return handle ? MUSPARSE_STATUS_SUCCESS : MUSPARSE_STATUS_NOT_INITIALIZED;
}
musparseStatus_t musparseSDDMM(musparseHandle_t handle, musparseOperation_t opa, musparseOperation_t opb, const void* alpha,
                               musparseDnMatDescr_t a, musparseDnMatDescr_t b, const void* beta, musparseSpMatDescr_t c,
                               musaDataType compute, musparseSDDMMAlg_t, void*) {
  MUST(handle, NOT_INITIALIZED);
  MUST(alpha && a && b && beta && c && c->compressed, INVALID_VALUE);
  const Dense left = dense(*a, opa), right = dense(*b, opb);
  MUST(left.columns == right.rows && left.rows == c->rows && right.columns == c->columns, INVALID_VALUE);
  const Factor first(handle, compute, alpha), second(handle, compute, beta);
  return as_status(in_stream(handle->stream, [=, c = *c] {
    long long place = 0;
    each_value(c, [&](long long i, long long j, Wide before) {
      Wide sum{};
      for (long long k = 0; k < left.columns; ++k) sum += left.at(i, k) * right.at(k, j);
      write(c.type, c.values, place++, first() * sum + (second() == 0.0 ? Wide{} : second() * before));
    });
  }));
}

musparseStatus_t musparseSpSV_createDescr(musparseSpSVDescr_t* made) { return make(made); }
musparseStatus_t musparseSpSV_destroyDescr(musparseSpSVDescr_t description) {
  delete description;
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseSpSV_bufferSize(musparseHandle_t, musparseOperation_t, const void*, musparseSpMatDescr_t, musparseDnVecDescr_t,
                                         musparseDnVecDescr_t, musaDataType, musparseSpSVAlg_t, musparseSpSVDescr_t, size_t* bytes) {
  return nothing_needed(bytes);
}
musparseStatus_t musparseSpSV_analysis(musparseHandle_t handle, musparseOperation_t, const void*, musparseSpMatDescr_t a,
                                       musparseDnVecDescr_t, musparseDnVecDescr_t, musaDataType, musparseSpSVAlg_t,
                                       musparseSpSVDescr_t description, void*) {
  MUST(handle, NOT_INITIALIZED);
  return a && description ? MUSPARSE_STATUS_SUCCESS : MUSPARSE_STATUS_INVALID_VALUE;
}
musparseStatus_t musparseSpSV_solve(musparseHandle_t handle, musparseOperation_t op, const void* alpha, musparseSpMatDescr_t a,
                                    musparseDnVecDescr_t x, musparseDnVecDescr_t y, musaDataType compute, musparseSpSVAlg_t,
                                    musparseSpSVDescr_t description) {
  MUST(handle, NOT_INITIALIZED);
  MUST(alpha && a && x && y && description, INVALID_VALUE);
  return solve(handle, *a, op, dense(*x), dense(*y), alpha, compute);
}
musparseStatus_t musparseSpSM_createDescr(musparseSpSMDescr_t* made) { return make(made); }
musparseStatus_t musparseSpSM_destroyDescr(musparseSpSMDescr_t description) {
  delete description;
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseSpSM_bufferSize(musparseHandle_t, musparseOperation_t, musparseOperation_t, const void*, musparseSpMatDescr_t,
                                         musparseDnMatDescr_t, musparseDnMatDescr_t, musaDataType, musparseSpSMAlg_t,
                                         musparseSpSMDescr_t, size_t* bytes) {
  return nothing_needed(bytes);
}
musparseStatus_t musparseSpSM_analysis(musparseHandle_t handle, musparseOperation_t, musparseOperation_t, const void*,
                                       musparseSpMatDescr_t a, musparseDnMatDescr_t, musparseDnMatDescr_t, musaDataType,
                                       musparseSpSMAlg_t, musparseSpSMDescr_t description, void*) {
  MUST(handle, NOT_INITIALIZED);
  return a && description ? MUSPARSE_STATUS_SUCCESS : MUSPARSE_STATUS_INVALID_VALUE;
}
musparseStatus_t musparseSpSM_solve(musparseHandle_t handle, musparseOperation_t opa, musparseOperation_t opb, const void* alpha,
                                    musparseSpMatDescr_t a, musparseDnMatDescr_t b, musparseDnMatDescr_t c, musaDataType compute,
                                    musparseSpSMAlg_t, musparseSpSMDescr_t description) {
  MUST(handle, NOT_INITIALIZED);
  MUST(alpha && a && b && c && description, INVALID_VALUE);
  return solve(handle, *a, opa, dense(*b, opb), plain(*c), alpha, compute);
}

musparseStatus_t musparseSpGEMM_createDescr(musparseSpGEMMDescr_t* made) { return make(made); }
musparseStatus_t musparseSpGEMM_destroyDescr(musparseSpGEMMDescr_t description) {
  delete description;
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseSpGEMM_workEstimation(musparseHandle_t, musparseOperation_t, musparseOperation_t, const void*,
                                               musparseSpMatDescr_t, musparseSpMatDescr_t, const void*, musparseSpMatDescr_t,
                                               musaDataType, musparseSpGEMMAlg_t, musparseSpGEMMDescr_t, size_t* bytes, void*) {
  return nothing_needed(bytes);
}
// A call without a buffer asks for the size of one; the result is the same in both, so that a program may make one call or two.
musparseStatus_t musparseSpGEMM_compute(musparseHandle_t handle, musparseOperation_t opa, musparseOperation_t opb, const void* alpha,
                                        musparseSpMatDescr_t a, musparseSpMatDescr_t b, const void*, musparseSpMatDescr_t c,
                                        musaDataType compute, musparseSpGEMMAlg_t, musparseSpGEMMDescr_t description, size_t* bytes,
                                        void*) {
  MUST(handle, NOT_INITIALIZED);
  MUST(alpha && a && b && c && description && bytes && a->columns == b->rows, INVALID_VALUE);
  MUST(opa == MUSPARSE_OPERATION_NON_TRANSPOSE && opb == MUSPARSE_OPERATION_NON_TRANSPOSE, NOT_SUPPORTED);
  *bytes = 0;
  const Factor factor(handle, compute, alpha);
  return as_status(in_stream(handle->stream, [=, a = *a, b = *b] {
    description->rows = product(a, b, factor());
    c->nnz = 0;
    for (const auto& row : description->rows) c->nnz += static_cast<long long>(row.size());
  }));
}
musparseStatus_t musparseSpGEMM_copy(musparseHandle_t handle, musparseOperation_t, musparseOperation_t, const void*,
                                     musparseSpMatDescr_t, musparseSpMatDescr_t, const void* beta, musparseSpMatDescr_t c,
                                     musaDataType compute, musparseSpGEMMAlg_t, musparseSpGEMMDescr_t description) {
  MUST(handle, NOT_INITIALIZED);
  MUST(beta && c && c->compressed && c->offsets && description, INVALID_VALUE);
  MUST(handle->pointers == MUSPARSE_POINTER_MODE_DEVICE || read(compute, beta, 0) == 0.0, NOT_SUPPORTED);
  return as_status(in_stream(handle->stream, [=, c = *c] {
    long long place = 0, line = 0;
    write_index(c.offset_type, c.offsets, 0, c.base);
    for (const auto& row : description->rows) {
      for (const auto& [column, value] : row) {
        write_index(c.index_type, c.indices, place, column + c.base);
        write(c.type, c.values, place++, value);
      }
      write_index(c.offset_type, c.offsets, ++line, place + c.base);
    }
  }));
}
