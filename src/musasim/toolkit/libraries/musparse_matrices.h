// The matrices and vectors of muSPARSE's generic functions. Sums are in double.
#pragma once

#include <utility>

#include "blas.h"
#include "musparse_handle.h"

struct musparseSpMatDescr {
  bool compressed;
  long long rows, columns, nnz;
  void *offsets, *indices, *values;  // of rows: offsets where compressed, and otherwise the row of each value
  musparseIndexType_t offset_type, index_type;
  int base;
  musaDataType type;
  musparseFillMode_t fill = MUSPARSE_FILL_MODE_LOWER;
  musparseDiagType_t diagonal = MUSPARSE_DIAG_TYPE_NON_UNIT;
};
struct musparseDnMatDescr {
  long long rows, columns, ld;
  void* values;
  musaDataType type;
  musparseOrder_t order;
};
struct musparseDnVecDescr {
  long long size;
  void* values;
  musaDataType type;
};

namespace musasim {

using Wide = std::complex<double>;

inline bool is_complex_type(musaDataType type) {
  return type == MUSA_C_32F || type == MUSA_C_64F;
}
inline Wide read(musaDataType type, const void* data, long long i) {
  if (type == MUSA_C_32F) return static_cast<const std::complex<float>*>(data)[i];
  if (type == MUSA_C_64F) return static_cast<const std::complex<double>*>(data)[i];
  return load(type, data, i);
}
inline void write(musaDataType type, void* data, long long i, Wide value) {
  if (type == MUSA_C_32F) static_cast<std::complex<float>*>(data)[i] = std::complex<float>(value);
  else if (type == MUSA_C_64F) static_cast<std::complex<double>*>(data)[i] = value;
  else store(type, data, i, value.real());
}
inline long long index(musparseIndexType_t type, const void* data, long long i) {
  switch (type) {
    case MUSPARSE_INDEX_16U: return static_cast<const unsigned short*>(data)[i];
    case MUSPARSE_INDEX_32I: return static_cast<const int*>(data)[i];
    default: return static_cast<const long long*>(data)[i];
  }
}

// Calls function(row, column, value) for each stored value.
template <class Function>
void each_value(const musparseSpMatDescr& a, Function function) {
  const auto visit = [&](long long row, long long i) {
    function(row, index(a.index_type, a.indices, i) - a.base, read(a.type, a.values, i));
  };
  if (!a.compressed) {
    for (long long i = 0; i < a.nnz; ++i) visit(index(a.offset_type, a.offsets, i) - a.base, i);
    return;
  }
  for (long long row = 0; row < a.rows; ++row) {
    const long long end = index(a.offset_type, a.offsets, row + 1) - a.base;
    for (long long i = index(a.offset_type, a.offsets, row) - a.base; i < end; ++i) visit(row, i);
  }
}

// A dense matrix or vector under an operation.
struct Dense {
  void* values;
  musaDataType type;
  long long rows, columns, row_step, column_step;
  bool conjugated = false;

  long long place(long long i, long long j) const { return i * row_step + j * column_step; }
  Wide at(long long i, long long j) const {
    const Wide value = read(type, values, place(i, j));
    return conjugated ? std::conj(value) : value;
  }
};

inline Dense dense(const musparseDnMatDescr& b, musparseOperation_t op) {
  const bool by_column = b.order == MUSPARSE_ORDER_COL;
  Dense plain{b.values, b.type, b.rows, b.columns, by_column ? 1 : b.ld, by_column ? b.ld : 1};
  if (op == MUSPARSE_OPERATION_NON_TRANSPOSE) return plain;
  return {b.values, b.type, b.columns, b.rows, plain.column_step, plain.row_step, op == MUSPARSE_OPERATION_CONJUGATE_TRANSPOSE};
}
inline Dense dense(const musparseDnVecDescr& x) {
  return {x.values, x.type, x.size, 1, 1, 1};
}

}  // namespace musasim
