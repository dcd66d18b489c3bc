// libmusparse.so: products of sparse matrices, summed in double, row by row in the order of storage.
#include "musparse.h"

#include "musparse_matrices.h"

using namespace musasim;

namespace {

// c = alpha op(a) b + beta c
void multiply(const musparseSpMatDescr& a, musparseOperation_t op, const Dense& b, const Dense& c, Wide alpha, Wide beta) {
  std::vector<Wide> sums(static_cast<size_t>(c.rows * c.columns));
  each_value(a, [&](long long row, long long column, Wide value) {
    if (op == MUSPARSE_OPERATION_CONJUGATE_TRANSPOSE) value = std::conj(value);
    if (op != MUSPARSE_OPERATION_NON_TRANSPOSE) std::swap(row, column);
    for (long long j = 0; j < c.columns; ++j) sums[row * c.columns + j] += value * b.at(column, j);
  });
  for (long long i = 0; i < c.rows; ++i) {
    for (long long j = 0; j < c.columns; ++j) {
      const Wide before = beta == 0.0 ? Wide{} : beta * c.at(i, j);
      write(c.type, c.values, c.place(i, j), alpha * sums[i * c.columns + j] + before);
    }
  }
}

musparseStatus_t run(musparseHandle_t handle, const musparseSpMatDescr& a, musparseOperation_t op, const Dense& b, const Dense& c,
                     const void* alpha, const void* beta, musaDataType compute) {
  const bool flat = op == MUSPARSE_OPERATION_NON_TRANSPOSE;
  if ((flat ? a.columns : a.rows) != b.rows || (flat ? a.rows : a.columns) != c.rows || b.columns != c.columns) {
    return MUSPARSE_STATUS_INVALID_VALUE;
  }
  if (size_of(a.type) == 0 || is_complex_type(a.type) != is_complex_type(c.type)) return MUSPARSE_STATUS_NOT_SUPPORTED;
  const bool late = handle->pointers == MUSPARSE_POINTER_MODE_DEVICE;
  const Wide first = late ? Wide{} : read(compute, alpha, 0), second = late ? Wide{} : read(compute, beta, 0);
  return as_status(in_stream(handle->stream, [=] {
    multiply(a, op, b, c, late ? read(compute, alpha, 0) : first, late ? read(compute, beta, 0) : second);
  }));
}

}  // namespace

musparseStatus_t musparseCreate(musparseHandle_t* handle) {
  if (handle == nullptr) return MUSPARSE_STATUS_INVALID_VALUE;
  *handle = new musparseContext;
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseDestroy(musparseHandle_t handle) {
  delete handle;
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseSetStream(musparseHandle_t handle, musaStream_t stream) {
  if (handle == nullptr) return MUSPARSE_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseSetPointerMode(musparseHandle_t handle, musparsePointerMode_t mode) {
  if (handle == nullptr) return MUSPARSE_STATUS_NOT_INITIALIZED;
  handle->pointers = mode;
  return MUSPARSE_STATUS_SUCCESS;
}
const char* musparseGetErrorString(musparseStatus_t status) {
  switch (status) {
    case MUSPARSE_STATUS_SUCCESS: return "success";
    case MUSPARSE_STATUS_NOT_INITIALIZED: return "initialization error";
    case MUSPARSE_STATUS_INVALID_VALUE: return "invalid value";
    case MUSPARSE_STATUS_EXECUTION_FAILED: return "execution failed";
    case MUSPARSE_STATUS_NOT_SUPPORTED: return "operation not supported";
    default: return "unknown error";
  }
}

musparseStatus_t musparseCreateCsr(musparseSpMatDescr_t* matrix, long long rows, long long columns, long long nnz, void* offsets,
                                   void* indices, void* values, musparseIndexType_t offset_type,
                                   musparseIndexType_t index_type, musparseIndexBase_t base, musaDataType type) {
  if (matrix == nullptr || rows < 0 || columns < 0 || nnz < 0) return MUSPARSE_STATUS_INVALID_VALUE;
  *matrix = new musparseSpMatDescr{true, rows, columns, nnz, offsets, indices, values, offset_type, index_type, base, type};
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseCreateCoo(musparseSpMatDescr_t* matrix, long long rows, long long columns, long long nnz,
                                   void* row_indices, void* column_indices, void* values, musparseIndexType_t index_type,
                                   musparseIndexBase_t base, musaDataType type) {
  if (matrix == nullptr || rows < 0 || columns < 0 || nnz < 0) return MUSPARSE_STATUS_INVALID_VALUE;
  *matrix = new musparseSpMatDescr{false, rows, columns, nnz, row_indices, column_indices, values, index_type, index_type, base, type};
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseDestroySpMat(musparseSpMatDescr_t matrix) {
  delete matrix;
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseCreateDnMat(musparseDnMatDescr_t* matrix, long long rows, long long columns, long long ld, void* values,
                                     musaDataType type, musparseOrder_t order) {
  if (matrix == nullptr || ld < (order == MUSPARSE_ORDER_COL ? rows : columns)) return MUSPARSE_STATUS_INVALID_VALUE;
  *matrix = new musparseDnMatDescr{rows, columns, ld, values, type, order};
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseDestroyDnMat(musparseDnMatDescr_t matrix) {
  delete matrix;
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseCreateDnVec(musparseDnVecDescr_t* vector, long long size, void* values, musaDataType type) {
  if (vector == nullptr || size < 0) return MUSPARSE_STATUS_INVALID_VALUE;
  *vector = new musparseDnVecDescr{size, values, type};
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseDestroyDnVec(musparseDnVecDescr_t vector) {
  delete vector;
  return MUSPARSE_STATUS_SUCCESS;
}

musparseStatus_t musparseSpMV_bufferSize(musparseHandle_t, musparseOperation_t, const void*, musparseSpMatDescr_t,
                                         musparseDnVecDescr_t, const void*, musparseDnVecDescr_t, musaDataType,
                                         musparseSpMVAlg_t, size_t* bytes) {
  *bytes = 0;
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseSpMV(musparseHandle_t handle, musparseOperation_t op, const void* alpha, musparseSpMatDescr_t a,
                              musparseDnVecDescr_t x, const void* beta, musparseDnVecDescr_t y, musaDataType compute,
                              musparseSpMVAlg_t, void*) {
  if (!handle) return MUSPARSE_STATUS_NOT_INITIALIZED;
  if (!alpha || !beta || !a || !x || !y) return MUSPARSE_STATUS_INVALID_VALUE;
  return run(handle, *a, op, dense(*x), dense(*y), alpha, beta, compute);
}
musparseStatus_t musparseSpMM_bufferSize(musparseHandle_t, musparseOperation_t, musparseOperation_t, const void*,
                                         musparseSpMatDescr_t, musparseDnMatDescr_t, const void*, musparseDnMatDescr_t,
                                         musaDataType, musparseSpMMAlg_t, size_t* bytes) {
  *bytes = 0;
  return MUSPARSE_STATUS_SUCCESS;
}
musparseStatus_t musparseSpMM(musparseHandle_t handle, musparseOperation_t opa, musparseOperation_t opb, const void* alpha,
                              musparseSpMatDescr_t a, musparseDnMatDescr_t b, const void* beta, musparseDnMatDescr_t c,
                              musaDataType compute, musparseSpMMAlg_t, void*) {
  if (!handle) return MUSPARSE_STATUS_NOT_INITIALIZED;
  if (!alpha || !beta || !a || !b || !c) return MUSPARSE_STATUS_INVALID_VALUE;
  return run(handle, *a, opa, dense(*b, opb), dense(*c, MUSPARSE_OPERATION_NON_TRANSPOSE), alpha, beta, compute);
}

musparseStatus_t musparseXcoo2csr(musparseHandle_t handle, const int* row_indices, int nnz, int rows, int* offsets,
                                  musparseIndexBase_t base) {
  if (!handle) return MUSPARSE_STATUS_NOT_INITIALIZED;
  return as_status(in_stream(handle->stream, [=] {
    for (int row = 0, i = 0; row <= rows; ++row) {
      while (i < nnz && row_indices[i] - base < row) ++i;
      offsets[row] = i + base;
    }
  }));
}
musparseStatus_t musparseXcsr2coo(musparseHandle_t handle, const int* offsets, int nnz, int rows, int* row_indices,
                                  musparseIndexBase_t base) {
  if (!handle) return MUSPARSE_STATUS_NOT_INITIALIZED;
  return as_status(in_stream(handle->stream, [=] {
    for (int row = 0; row < rows; ++row) {
      for (int i = offsets[row] - base; i < std::min(nnz, offsets[row + 1] - base); ++i) row_indices[i] = row + base;
    }
  }));
}
