// libmublasLt.so: products with an epilogue, in float (or double), rounded once.
#include "mublasLt.h"

#include <cmath>
#include <cstring>

#include "blas.h"

using namespace musasim;

struct mublasLtContext {};

namespace {

struct Desc {
  musaDataType_t compute, scale;
  int pointer_mode;
  int transa, transb, transc, fill;
  int epilogue;
  void *bias, *aux;
  long long bias_stride, aux_ld, aux_stride;
};
struct Layout {
  musaDataType_t type;
  int order;
  unsigned long long rows, columns;
  long long ld;
  int batch;
  long long stride;
};
static_assert(sizeof(Desc) <= sizeof(mublasLtMatmulDescOpaque_t) && sizeof(Layout) <= sizeof(mublasLtMatrixLayoutOpaque_t));

Desc& of(mublasLtMatmulDesc_t desc) {
  return *reinterpret_cast<Desc*>(desc);
}
Layout& of(mublasLtMatrixLayout_t layout) {
  return *reinterpret_cast<Layout*>(layout);
}

struct Field {
  void* place;
  size_t size;
};
template <class T>
Field field(T& member) {
  return {&member, sizeof member};
}

Field field_of(Desc& d, mublasLtMatmulDescAttributes_t attribute) {
  switch (attribute) {
    case MUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return field(d.compute);
    case MUBLASLT_MATMUL_DESC_SCALE_TYPE: return field(d.scale);
    case MUBLASLT_MATMUL_DESC_POINTER_MODE: return field(d.pointer_mode);
    case MUBLASLT_MATMUL_DESC_TRANSA: return field(d.transa);
    case MUBLASLT_MATMUL_DESC_TRANSB: return field(d.transb);
    case MUBLASLT_MATMUL_DESC_TRANSC: return field(d.transc);
    case MUBLASLT_MATMUL_DESC_FILL_MODE: return field(d.fill);
    case MUBLASLT_MATMUL_DESC_EPILOGUE: return field(d.epilogue);
    case MUBLASLT_MATMUL_DESC_BIAS_POINTER: return field(d.bias);
    case MUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE: return field(d.bias_stride);
    case MUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return field(d.aux);
    case MUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return field(d.aux_ld);
    case MUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE: return field(d.aux_stride);
  }
  return {};
}

Field field_of(Layout& l, mublasLtMatrixLayoutAttribute_t attribute) {
  switch (attribute) {
    case MUBLASLT_MATRIX_LAYOUT_TYPE: return field(l.type);
    case MUBLASLT_MATRIX_LAYOUT_ORDER: return field(l.order);
    case MUBLASLT_MATRIX_LAYOUT_ROWS: return field(l.rows);
    case MUBLASLT_MATRIX_LAYOUT_COLS: return field(l.columns);
    case MUBLASLT_MATRIX_LAYOUT_LD: return field(l.ld);
    case MUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return field(l.batch);
    case MUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return field(l.stride);
  }
  return {};
}

mublasStatus_t set(Field to, const void* value, size_t size) {
  if (to.place == nullptr || value == nullptr || size != to.size) return MUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(to.place, value, size);
  return MUBLAS_STATUS_SUCCESS;
}
mublasStatus_t get(Field from, void* value, size_t size, size_t* written) {
  if (from.place == nullptr || (size != 0 && size < from.size)) return MUBLAS_STATUS_INVALID_VALUE;
  if (written) *written = from.size;
  if (size != 0) std::memcpy(value, from.place, from.size);
  return MUBLAS_STATUS_SUCCESS;
}

template <class Opaque>
mublasStatus_t create(Opaque** made) {
  if (made == nullptr) return MUBLAS_STATUS_INVALID_POINTER;
  *made = new Opaque{};
  return MUBLAS_STATUS_SUCCESS;
}
template <class Opaque>
mublasStatus_t destroy(Opaque* made) {
  delete made;
  return MUBLAS_STATUS_SUCCESS;
}

}  // namespace

mublasStatus_t mublasLtCreate(mublasLtHandle_t* handle) {
  return create(handle);
}
mublasStatus_t mublasLtDestroy(mublasLtHandle_t handle) {
  return destroy(handle);
}
size_t mublasLtGetVersion(void) {
  return MUSART_VERSION;
}

mublasStatus_t mublasLtMatmulDescInit_internal(mublasLtMatmulDesc_t desc, size_t size, musaDataType_t compute,
                                               musaDataType_t scale) {
  if (desc == nullptr || size < sizeof(*desc)) return MUBLAS_STATUS_INVALID_VALUE;
  std::memset(desc, 0, sizeof(*desc));
  of(desc).compute = compute;
  of(desc).scale = scale;
  of(desc).epilogue = MUBLASLT_EPILOGUE_DEFAULT;
  return MUBLAS_STATUS_SUCCESS;
}
mublasStatus_t mublasLtMatmulDescCreate(mublasLtMatmulDesc_t* desc, musaDataType_t compute, musaDataType_t scale) {
  const auto status = create(desc);
  return status != MUBLAS_STATUS_SUCCESS ? status : mublasLtMatmulDescInit(*desc, compute, scale);
}
mublasStatus_t mublasLtMatmulDescDestroy(mublasLtMatmulDesc_t desc) {
  return destroy(desc);
}
mublasStatus_t mublasLtMatmulDescSetAttribute(mublasLtMatmulDesc_t desc, mublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t size) {
  return set(field_of(of(desc), attribute), value, size);
}
mublasStatus_t mublasLtMatmulDescGetAttribute(mublasLtMatmulDesc_t desc, mublasLtMatmulDescAttributes_t attribute, void* value,
                                              size_t size, size_t* written) {
  return get(field_of(of(desc), attribute), value, size, written);
}

mublasStatus_t mublasLtMatrixLayoutInit_internal(mublasLtMatrixLayout_t layout, size_t size, musaDataType_t type,
                                                 unsigned long long rows, unsigned long long columns, long long ld) {
  if (layout == nullptr || size < sizeof(*layout)) return MUBLAS_STATUS_INVALID_VALUE;
  std::memset(layout, 0, sizeof(*layout));
  of(layout) = {type, MUBLASLT_ORDER_COL, rows, columns, ld, 1, 0};
  return MUBLAS_STATUS_SUCCESS;
}
mublasStatus_t mublasLtMatrixLayoutCreate(mublasLtMatrixLayout_t* layout, musaDataType_t type, unsigned long long rows,
                                          unsigned long long columns, long long ld) {
  const auto status = create(layout);
  return status != MUBLAS_STATUS_SUCCESS ? status : mublasLtMatrixLayoutInit(*layout, type, rows, columns, ld);
}
mublasStatus_t mublasLtMatrixLayoutDestroy(mublasLtMatrixLayout_t layout) {
  return destroy(layout);
}
mublasStatus_t mublasLtMatrixLayoutSetAttribute(mublasLtMatrixLayout_t layout, mublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t size) {
  return set(field_of(of(layout), attribute), value, size);
}
mublasStatus_t mublasLtMatrixLayoutGetAttribute(mublasLtMatrixLayout_t layout, mublasLtMatrixLayoutAttribute_t attribute,
                                                void* value, size_t size, size_t* written) {
  return get(field_of(of(layout), attribute), value, size, written);
}

mublasStatus_t mublasLtMatmulPreferenceInit_internal(mublasLtMatmulPreference_t preference, size_t size) {
  if (preference == nullptr || size < sizeof(*preference)) return MUBLAS_STATUS_INVALID_VALUE;
  std::memset(preference, 0, sizeof(*preference));
  return MUBLAS_STATUS_SUCCESS;
}
mublasStatus_t mublasLtMatmulPreferenceCreate(mublasLtMatmulPreference_t* preference) {
  return create(preference);
}
mublasStatus_t mublasLtMatmulPreferenceDestroy(mublasLtMatmulPreference_t preference) {
  return destroy(preference);
}
mublasStatus_t mublasLtMatmulPreferenceSetAttribute(mublasLtMatmulPreference_t preference, mublasLtMatmulPreferenceAttributes_t,
                                                    const void* value, size_t) {
  return preference && value ? MUBLAS_STATUS_SUCCESS : MUBLAS_STATUS_INVALID_VALUE;  // no product here needs a workspace
}

// --- the product -------------------------------------------------------------------------------------------------------------------

namespace {

struct Matmul {
  Desc desc;
  Layout a, b, c, d;
  const void *pa, *pb, *pc;
  void* pd;

  int m() const { return static_cast<int>(d.rows); }
  int n() const { return static_cast<int>(d.columns); }
  int k() const { return static_cast<int>(desc.transa == MUBLAS_OP_N ? a.columns : a.rows); }
  bool does(int epilogue) const { return (desc.epilogue & epilogue) == epilogue; }
};

// The mask of a rectified product has a bit for each number, and columns of so many bits.
constexpr long long kMaskUnit = 128;

bool is_known(const Matmul& x) {
  for (const Layout* each : {&x.a, &x.b, &x.c, &x.d}) {
    if (each->order != MUBLASLT_ORDER_COL || size_of(each->type) == 0 || each->type == MUSA_C_32F || each->type == MUSA_C_64F) return false;
  }
  switch (x.desc.epilogue) {
    case MUBLASLT_EPILOGUE_DEFAULT: case MUBLASLT_EPILOGUE_RELU: case MUBLASLT_EPILOGUE_BIAS: case MUBLASLT_EPILOGUE_RELU_BIAS:
    case MUBLASLT_EPILOGUE_GELU: case MUBLASLT_EPILOGUE_GELU_BIAS: case MUBLASLT_EPILOGUE_GELU_AUX:
    case MUBLASLT_EPILOGUE_GELU_AUX_BIAS: case MUBLASLT_EPILOGUE_DGELU_BGRAD: case MUBLASLT_EPILOGUE_BGRADA:
    case MUBLASLT_EPILOGUE_BGRADB: return true;
    case MUBLASLT_EPILOGUE_RELU_AUX: case MUBLASLT_EPILOGUE_RELU_AUX_BIAS: case MUBLASLT_EPILOGUE_DRELU_BGRAD:
      return x.desc.aux_ld >= x.m() && x.desc.aux_ld % kMaskUnit == 0 && x.desc.aux_stride % kMaskUnit == 0;
    default: return false;
  }
}

bool fits(const Matmul& x) {
  const auto rows_b = x.desc.transb == MUBLAS_OP_N ? x.b.rows : x.b.columns, columns_b = x.desc.transb == MUBLAS_OP_N ? x.b.columns : x.b.rows;
  const auto rows_a = x.desc.transa == MUBLAS_OP_N ? x.a.rows : x.a.columns;
  return rows_a == x.d.rows && columns_b == x.d.columns && rows_b == static_cast<unsigned long long>(x.k()) &&
         x.c.rows == x.d.rows && x.c.columns == x.d.columns;
}

// The approximation by tanh, and its slope.
double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
double gelu_slope(double x) {
  const double t = std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

template <class T>
class Epilogue {
 public:
  Epilogue(const Matmul& x, int batch) : x_(x), bias_(shifted(x.desc.bias, batch * x.desc.bias_stride)), 
        aux_(has_mask() ? static_cast<char*>(x.desc.aux) + batch * x.desc.aux_stride / 8 : shifted(x.desc.aux, batch * x.desc.aux_stride)) {}

  void apply(std::vector<T>& sums) const {
    const bool is_back = x_.does(kBack);
    std::vector<double> gradient(x_.m());
    for (int j = 0; j < x_.n(); ++j) {
      for (int i = 0; i < x_.m(); ++i) {
        T& value = sums[static_cast<size_t>(j) * x_.m() + i];
        value = is_back ? sloped(value, i, j) : activated(value, i, j);
        gradient[i] += value;
      }
    }
    if (is_back) write(gradient);
  }

  // The gradient of a bias is the sum of one operand over what is summed in the product.
  void reduce(const std::vector<T>& operand, int kept, bool by_row) const {
    std::vector<double> sums(kept);
    for (int p = 0; p < x_.k(); ++p) {
      for (int i = 0; i < kept; ++i) sums[i] += operand[by_row ? static_cast<size_t>(p) * kept + i : static_cast<size_t>(i) * x_.k() + p];
    }
    write(sums);
  }

 private:
  bool has_mask() const { return x_.does(MUBLASLT_EPILOGUE_RELU_AUX) || x_.desc.epilogue == MUBLASLT_EPILOGUE_DRELU_BGRAD; }
  void* shifted(void* place, long long elements) const {
    return static_cast<char*>(place) + elements * static_cast<long long>(size_of(x_.d.type));
  }
  T activated(T value, int i, int j) const {
    if (x_.does(MUBLASLT_EPILOGUE_BIAS)) value += static_cast<T>(load(x_.d.type, bias_, i));
    if (x_.does(MUBLASLT_EPILOGUE_GELU_AUX)) store(x_.d.type, aux_, j * x_.desc.aux_ld + i, value);
    if (x_.does(MUBLASLT_EPILOGUE_RELU_AUX)) mark(i, j, value > 0);
    if (x_.does(MUBLASLT_EPILOGUE_GELU)) return static_cast<T>(gelu(value));
    return x_.does(MUBLASLT_EPILOGUE_RELU) && value < 0 ? T{} : value;
  }
  T sloped(T value, int i, int j) const {
    if (x_.desc.epilogue == MUBLASLT_EPILOGUE_DRELU_BGRAD) return is_marked(i, j) ? value : T{};
    return static_cast<T>(value * gelu_slope(load(x_.d.type, aux_, j * x_.desc.aux_ld + i)));
  }
  void mark(int i, int j, bool is_positive) const {
    const auto bit = j * x_.desc.aux_ld + i;
    auto& byte = static_cast<unsigned char*>(aux_)[bit / 8];
    byte = static_cast<unsigned char>((byte & ~(1u << bit % 8)) | static_cast<unsigned>(is_positive) << bit % 8);
  }
  bool is_marked(int i, int j) const {
    const auto bit = j * x_.desc.aux_ld + i;
    return static_cast<const unsigned char*>(aux_)[bit / 8] >> bit % 8 & 1;
  }
  void write(const std::vector<double>& all) const {
    for (size_t i = 0; i < all.size(); ++i) store(x_.d.type, bias_, static_cast<std::ptrdiff_t>(i), all[i]);
  }

  static constexpr int kBack = 16 | 128;  // the slope by what was kept, and the gradient of the bias
  const Matmul& x_;
  void *bias_, *aux_;
};

const void* of_batch(const Layout& layout, const void* data, int i) {
  return static_cast<const char*>(data) + i * layout.stride * static_cast<long long>(size_of(layout.type));
}

template <class T>
std::vector<T> whole(const Layout& layout, const void* data) {
  return widened<T>(layout.type, data, static_cast<int>(layout.rows), static_cast<int>(layout.columns), static_cast<int>(layout.ld));
}

// alpha and beta, where they are. The host's are read at the call, the device's when the product is computed.
class Factors {
 public:
  Factors(const Desc& desc, const void* alpha, const void* beta)
      : type_(desc.scale), mode_(desc.pointer_mode), alpha_(alpha), beta_(beta),
        first_(mode_ == MUBLASLT_POINTER_MODE_HOST ? load(type_, alpha, 0) : 0),
        second_(mode_ == MUBLASLT_POINTER_MODE_HOST || mode_ == MUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST
                    ? load(type_, beta, 0) : 0) {}

  bool has_vector() const { return mode_ >= MUBLASLT_POINTER_MODE_DEVICE_VECTOR; }
  double alpha(int row) const { return mode_ == MUBLASLT_POINTER_MODE_HOST ? first_ : load(type_, alpha_, has_vector() ? row : 0); }
  double beta(int row) const {
    if (mode_ == MUBLASLT_POINTER_MODE_DEVICE) return load(type_, beta_, 0);
    return mode_ == MUBLASLT_POINTER_MODE_DEVICE_VECTOR ? load(type_, beta_, row) : second_;
  }

 private:
  musaDataType_t type_;
  int mode_;
  const void *alpha_, *beta_;
  double first_, second_;
};

// A factor of its own for each row.
template <class T>
std::vector<T> scaled(const Matmul& x, const Factors& factors, std::vector<T> sums, const std::vector<T>& c) {
  for (size_t at = 0; at < sums.size(); ++at) {
    const int row = static_cast<int>(at % x.m());
    sums[at] = static_cast<T>(factors.alpha(row)) * sums[at] + (c.empty() ? T{} : static_cast<T>(factors.beta(row)) * c[at]);
  }
  return sums;
}

template <class T>
void multiply(const Matmul& x, void* gemm, const Factors& factors, int i) {
  const auto a = whole<T>(x.a, of_batch(x.a, x.pa, i)), b = whole<T>(x.b, of_batch(x.b, x.pb, i));
  const bool by_row = factors.has_vector(), adds = by_row ? x.desc.pointer_mode != MUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO
                                                          : factors.beta(0) != 0;
  auto c = adds ? whole<T>(x.c, of_batch(x.c, x.pc, i)) : std::vector<T>();
  auto sums = adds && !by_row ? c : std::vector<T>(static_cast<size_t>(x.m()) * x.n());
  const Product<T> product{operation(x.desc.transa), operation(x.desc.transb), x.m(), x.n(), x.k(),
                           std::max(1, static_cast<int>(x.a.rows)), std::max(1, static_cast<int>(x.b.rows)), std::max(1, x.m())};
  const T alpha = by_row ? T{1} : static_cast<T>(factors.alpha(0)), beta = by_row ? T{} : static_cast<T>(factors.beta(0));
  product(gemm, alpha, a.data(), b.data(), beta, sums.data());
  if (by_row) sums = scaled(x, factors, std::move(sums), c);
  const Epilogue<T> epilogue(x, i);
  epilogue.apply(sums);
  if (x.desc.epilogue == MUBLASLT_EPILOGUE_BGRADA) epilogue.reduce(a, x.m(), x.desc.transa == MUBLAS_OP_N);
  if (x.desc.epilogue == MUBLASLT_EPILOGUE_BGRADB) epilogue.reduce(b, x.n(), x.desc.transb != MUBLAS_OP_N);
  narrowed(sums, x.d.type, const_cast<void*>(of_batch(x.d, x.pd, i)), x.m(), x.n(), static_cast<int>(x.d.ld));
}

template <class T>
mublasStatus_t run(const Matmul& x, const void* alpha, const void* beta, musaStream_t stream) {
  void* const gemm = blas<T>("gemm");
  if (gemm == nullptr) return MUBLAS_STATUS_NOT_IMPLEMENTED;
  const Factors factors(x.desc, alpha, beta);
  const auto error = in_stream(stream, [=] {
    for (int i = 0; i < x.d.batch; ++i) multiply<T>(x, gemm, factors, i);
  });
  return error == musaSuccess ? MUBLAS_STATUS_SUCCESS : MUBLAS_STATUS_INTERNAL_ERROR;
}

}  // namespace

mublasStatus_t mublasLtMatmulAlgoGetHeuristic(mublasLtHandle_t, mublasLtMatmulDesc_t desc, mublasLtMatrixLayout_t a,
                                              mublasLtMatrixLayout_t b, mublasLtMatrixLayout_t c, mublasLtMatrixLayout_t d,
                                              mublasLtMatmulPreference_t, int wanted, mublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  if (!desc || !a || !b || !c || !d || !results || !found || wanted < 1) return MUBLAS_STATUS_INVALID_VALUE;
  const Matmul x{of(desc), of(a), of(b), of(c), of(d), nullptr, nullptr, nullptr, nullptr};
  *found = is_known(x) && fits(x) ? 1 : 0;
  if (*found == 0) return MUBLAS_STATUS_NOT_IMPLEMENTED;
  results[0] = {};
  return MUBLAS_STATUS_SUCCESS;
}

mublasStatus_t mublasLtMatmul(mublasLtHandle_t handle, mublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                              mublasLtMatrixLayout_t alayout, const void* b, mublasLtMatrixLayout_t blayout, const void* beta,
                              const void* c, mublasLtMatrixLayout_t clayout, void* d, mublasLtMatrixLayout_t dlayout,
                              const mublasLtMatmulAlgo_t*, void*, size_t, musaStream_t stream) {
  if (handle == nullptr) return MUBLAS_STATUS_INVALID_HANDLE;
  if (!desc || !alpha || !beta || !a || !b || !d || !alayout || !blayout || !clayout || !dlayout) return MUBLAS_STATUS_INVALID_POINTER;
  const Matmul x{of(desc), of(alayout), of(blayout), of(clayout), of(dlayout), a, b, c, d};
  if (!fits(x)) return MUBLAS_STATUS_INVALID_SIZE;
  if (!is_known(x)) return MUBLAS_STATUS_NOT_IMPLEMENTED;
  const bool wide = x.desc.compute == MUSA_R_64F || x.desc.compute == MUSA_R_32I;
  return wide ? run<double>(x, alpha, beta, stream) : run<float>(x, alpha, beta, stream);
}
