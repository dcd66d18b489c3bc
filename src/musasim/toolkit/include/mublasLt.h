// The host API of muBLASLt, as far as extensions call it: products of matrices with what follows them.
#pragma once

#include "internal/mublas_types.h"

#define MUBLASLTAPI __attribute__((visibility("default")))

struct mublasLtContext;
typedef struct mublasLtContext* mublasLtHandle_t;

// Plain data, so that programs may have them on their stack, or made by ...Create.
struct mublasLtMatmulDescOpaque_t {
  unsigned long long data[32];
};
struct mublasLtMatrixLayoutOpaque_t {
  unsigned long long data[8];
};
struct mublasLtMatmulPreferenceOpaque_t {
  unsigned long long data[8];
};
typedef mublasLtMatmulDescOpaque_t* mublasLtMatmulDesc_t;
typedef mublasLtMatrixLayoutOpaque_t* mublasLtMatrixLayout_t;
typedef mublasLtMatmulPreferenceOpaque_t* mublasLtMatmulPreference_t;

struct mublasLtMatmulAlgo_t {
  unsigned long long data[8];
};
struct mublasLtMatmulHeuristicResult_t {
  mublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  mublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

enum mublasLtMatmulDescAttributes_t {
  MUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0,
  MUBLASLT_MATMUL_DESC_SCALE_TYPE = 1,
  MUBLASLT_MATMUL_DESC_POINTER_MODE = 2,
  MUBLASLT_MATMUL_DESC_TRANSA = 3,
  MUBLASLT_MATMUL_DESC_TRANSB = 4,
  MUBLASLT_MATMUL_DESC_TRANSC = 5,
  MUBLASLT_MATMUL_DESC_FILL_MODE = 6,
  MUBLASLT_MATMUL_DESC_EPILOGUE = 7,
  MUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
  MUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE = 10,
  MUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11,
  MUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 12,
  MUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE = 13
};
enum mublasLtMatrixLayoutAttribute_t {
  MUBLASLT_MATRIX_LAYOUT_TYPE = 0,
  MUBLASLT_MATRIX_LAYOUT_ORDER = 1,
  MUBLASLT_MATRIX_LAYOUT_ROWS = 2,
  MUBLASLT_MATRIX_LAYOUT_COLS = 3,
  MUBLASLT_MATRIX_LAYOUT_LD = 4,
  MUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
  MUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6
};
enum mublasLtMatmulPreferenceAttributes_t { MUBLASLT_MATMUL_PREF_SEARCH_MODE = 0, MUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1 };
enum mublasLtOrder_t { MUBLASLT_ORDER_COL = 0, MUBLASLT_ORDER_ROW = 1 };
// With a vector, alpha has a number for each row of d.
enum mublasLtPointerMode_t {
  MUBLASLT_POINTER_MODE_HOST = 0,
  MUBLASLT_POINTER_MODE_DEVICE = 1,
  MUBLASLT_POINTER_MODE_DEVICE_VECTOR = 2,
  MUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO = 3,
  MUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST = 4
};
enum mublasLtEpilogue_t {
  MUBLASLT_EPILOGUE_DEFAULT = 1,
  MUBLASLT_EPILOGUE_RELU = 2,
  MUBLASLT_EPILOGUE_BIAS = 4,
  MUBLASLT_EPILOGUE_RELU_BIAS = 6,
  MUBLASLT_EPILOGUE_RELU_AUX = 130,
  MUBLASLT_EPILOGUE_RELU_AUX_BIAS = 134,
  MUBLASLT_EPILOGUE_DRELU_BGRAD = 152,
  MUBLASLT_EPILOGUE_DGELU_BGRAD = 208,
  MUBLASLT_EPILOGUE_BGRADA = 256,
  MUBLASLT_EPILOGUE_BGRADB = 512,
  MUBLASLT_EPILOGUE_GELU = 32,
  MUBLASLT_EPILOGUE_GELU_BIAS = 36,
  MUBLASLT_EPILOGUE_GELU_AUX = 160,
  MUBLASLT_EPILOGUE_GELU_AUX_BIAS = 164
};

extern "C" {

MUBLASLTAPI mublasStatus_t mublasLtCreate(mublasLtHandle_t* handle);
MUBLASLTAPI mublasStatus_t mublasLtDestroy(mublasLtHandle_t handle);
MUBLASLTAPI size_t mublasLtGetVersion(void);

MUBLASLTAPI mublasStatus_t mublasLtMatmulDescInit_internal(mublasLtMatmulDesc_t desc, size_t size, musaDataType_t compute,
                                                           musaDataType_t scale);
MUBLASLTAPI mublasStatus_t mublasLtMatmulDescCreate(mublasLtMatmulDesc_t* desc, musaDataType_t compute, musaDataType_t scale);
MUBLASLTAPI mublasStatus_t mublasLtMatmulDescDestroy(mublasLtMatmulDesc_t desc);
MUBLASLTAPI mublasStatus_t mublasLtMatmulDescSetAttribute(mublasLtMatmulDesc_t desc, mublasLtMatmulDescAttributes_t attribute,
                                                          const void* value, size_t size);
MUBLASLTAPI mublasStatus_t mublasLtMatmulDescGetAttribute(mublasLtMatmulDesc_t desc, mublasLtMatmulDescAttributes_t attribute,
                                                          void* value, size_t size, size_t* written);

MUBLASLTAPI mublasStatus_t mublasLtMatrixLayoutInit_internal(mublasLtMatrixLayout_t layout, size_t size, musaDataType_t type,
                                                             unsigned long long rows, unsigned long long columns,
                                                             long long ld);
MUBLASLTAPI mublasStatus_t mublasLtMatrixLayoutCreate(mublasLtMatrixLayout_t* layout, musaDataType_t type,
                                                      unsigned long long rows, unsigned long long columns, long long ld);
MUBLASLTAPI mublasStatus_t mublasLtMatrixLayoutDestroy(mublasLtMatrixLayout_t layout);
MUBLASLTAPI mublasStatus_t mublasLtMatrixLayoutSetAttribute(mublasLtMatrixLayout_t layout,
                                                            mublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                            size_t size);
MUBLASLTAPI mublasStatus_t mublasLtMatrixLayoutGetAttribute(mublasLtMatrixLayout_t layout,
                                                            mublasLtMatrixLayoutAttribute_t attribute, void* value,
                                                            size_t size, size_t* written);

MUBLASLTAPI mublasStatus_t mublasLtMatmulPreferenceInit_internal(mublasLtMatmulPreference_t preference, size_t size);
MUBLASLTAPI mublasStatus_t mublasLtMatmulPreferenceCreate(mublasLtMatmulPreference_t* preference);
MUBLASLTAPI mublasStatus_t mublasLtMatmulPreferenceDestroy(mublasLtMatmulPreference_t preference);
MUBLASLTAPI mublasStatus_t mublasLtMatmulPreferenceSetAttribute(mublasLtMatmulPreference_t preference,
                                                                mublasLtMatmulPreferenceAttributes_t attribute,
                                                                const void* value, size_t size);

// One result, where the product can be computed at all.
MUBLASLTAPI mublasStatus_t mublasLtMatmulAlgoGetHeuristic(mublasLtHandle_t handle, mublasLtMatmulDesc_t desc,
                                                          mublasLtMatrixLayout_t a, mublasLtMatrixLayout_t b,
                                                          mublasLtMatrixLayout_t c, mublasLtMatrixLayout_t d,
                                                          mublasLtMatmulPreference_t preference, int wanted,
                                                          mublasLtMatmulHeuristicResult_t results[], int* found);
// d = epilogue(alpha op(a) op(b) + beta c)
MUBLASLTAPI mublasStatus_t mublasLtMatmul(mublasLtHandle_t handle, mublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                                          mublasLtMatrixLayout_t alayout, const void* b, mublasLtMatrixLayout_t blayout,
                                          const void* beta, const void* c, mublasLtMatrixLayout_t clayout, void* d,
                                          mublasLtMatrixLayout_t dlayout, const mublasLtMatmulAlgo_t* algo, void* workspace,
                                          size_t bytes, musaStream_t stream);
}

static inline mublasStatus_t mublasLtMatmulDescInit(mublasLtMatmulDesc_t desc, musaDataType_t compute, musaDataType_t scale) {
  return mublasLtMatmulDescInit_internal(desc, sizeof(*desc), compute, scale);
}
static inline mublasStatus_t mublasLtMatrixLayoutInit(mublasLtMatrixLayout_t layout, musaDataType_t type, unsigned long long rows,
                                                      unsigned long long columns, long long ld) {
  return mublasLtMatrixLayoutInit_internal(layout, sizeof(*layout), type, rows, columns, ld);
}
static inline mublasStatus_t mublasLtMatmulPreferenceInit(mublasLtMatmulPreference_t preference) {
  return mublasLtMatmulPreferenceInit_internal(preference, sizeof(*preference));
}
