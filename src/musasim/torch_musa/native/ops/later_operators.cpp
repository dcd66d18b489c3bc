// The operators that torch_musa 2.9.1 has added to those of 2.7.1, as musa_functions.yaml of 2.9.1.post1 lists them. The list of 2.11.0
// was not read, so that it has those of 2.9.1. Whether each of the vendor's kernels is right is not known from a list: here they are
// PyTorch's.
#include "later_operators.h"

#include "../runtime/release.h"
#include "fallback.h"

#include <ATen/ATen.h>
#include <ATen/NativeFunctions.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_fused_dropout_native.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>

namespace musasim {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;
using Names = std::initializer_list<const char*>;

// The CPU has kernels of these.
const Names& of_dense() {
  static const Names known = {
      "_compute_linear_combination", "_compute_linear_combination.out", "_fused_adagrad_", "_fused_adagrad_.tensor_lr",
      "_int_mm", "_int_mm.out", "_jagged_to_padded_dense_forward", "_logcumsumexp", "_logcumsumexp.out",
      "_padded_dense_to_jagged_forward", "_segment_reduce_backward", "_to_sparse_bsc", "_to_sparse_bsr", "_to_sparse_csc",
      "_to_sparse_csr", "dequantize.self", "hash_tensor", "hash_tensor.out", "linalg_matrix_exp",
      "nonzero_static", "nonzero_static.out", "segment_reduce", "special_chebyshev_polynomial_t",
      "special_chebyshev_polynomial_t.out", "special_chebyshev_polynomial_u", "special_chebyshev_polynomial_u.out",
      "special_chebyshev_polynomial_v", "special_chebyshev_polynomial_v.out", "special_chebyshev_polynomial_w",
      "special_chebyshev_polynomial_w.out", "special_hermite_polynomial_h", "special_hermite_polynomial_h.out",
      "special_hermite_polynomial_he", "special_hermite_polynomial_he.out", "special_laguerre_polynomial_l",
      "special_laguerre_polynomial_l.out", "special_legendre_polynomial_p", "special_legendre_polynomial_p.out",
      "special_modified_bessel_i0", "special_modified_bessel_i0.out", "special_modified_bessel_i1",
      "special_modified_bessel_i1.out", "special_modified_bessel_k0", "special_modified_bessel_k0.out",
      "special_modified_bessel_k1", "special_modified_bessel_k1.out", "special_scaled_modified_bessel_k0",
      "special_scaled_modified_bessel_k0.out", "special_scaled_modified_bessel_k1", "special_scaled_modified_bessel_k1.out",
      "special_shifted_chebyshev_polynomial_t", "special_shifted_chebyshev_polynomial_t.out",
      "special_shifted_chebyshev_polynomial_u", "special_shifted_chebyshev_polynomial_u.out",
      "special_shifted_chebyshev_polynomial_v", "special_shifted_chebyshev_polynomial_v.out",
      "special_shifted_chebyshev_polynomial_w", "special_shifted_chebyshev_polynomial_w.out", "special_spherical_bessel_j0",
      "special_spherical_bessel_j0.out"};
  return known;
}

// Without what makes a tensor of nothing (add_members): the fallback finds the kernel by the tensors of a call.
const Names& of_sparse() {
  static const Names known = {
      "_dimI", "_dimV", "_sparse_broadcast_to", "_sparse_log_softmax",
      "_sparse_log_softmax_backward_data", "_sparse_mask_projection", "_sparse_softmax", "_sparse_softmax_backward_data",
      "_sparse_sparse_matmul", "_sparse_sum_backward", "_to_dense", "_to_sparse_bsc", "_to_sparse_bsr", "_to_sparse_csc",
      "abs", "abs.out", "abs_", "add.Tensor", "add.out", "add_.Tensor", "addmm", "addmm.out", "addmm_", "any", "asin",
      "asin.out", "asin_", "asinh", "asinh.out", "asinh_", "atan", "atan.out", "atan_", "atanh", "atanh.out", "atanh_",
      "bmm", "bmm.out", "cat", "ceil", "ceil.out", "ceil_", "clone", "conj_physical.out", "copy_", "copy_sparse_to_sparse_",
      "deg2rad", "deg2rad.out", "deg2rad_", "dense_dim", "div.Tensor", "div.Tensor_mode", "div.out", "div.out_mode",
      "div_.Tensor", "div_.Tensor_mode", "empty_like", "erf", "erf.out", "erf_", "erfinv",
      "erfinv.out", "erfinv_", "expm1", "expm1.out", "expm1_", "floor", "floor.out", "floor_", "floor_divide",
      "floor_divide.out", "floor_divide_.Tensor", "frac", "frac.out", "frac_", "hspmm", "hspmm.out", "index_select",
      "isinf", "isnan", "isneginf", "isneginf.out", "isposinf", "isposinf.out", "log1p", "log1p.out", "log1p_", "mm",
      "mm.out", "mul.Tensor", "mul.out", "mul_.Tensor", "mv", "nan_to_num", "nan_to_num.out", "nan_to_num_", "narrow_copy",
      "native_norm", "native_norm.ScalarOpt_dim_dtype", "neg", "neg.out", "neg_", "norm.ScalarOpt_dim",
      "norm.ScalarOpt_dim_dtype", "permute", "pow.Tensor_Scalar", "pow.Tensor_Scalar_out", "rad2deg", "rad2deg.out",
      "rad2deg_", "relu", "relu_", "resize_as_sparse_", "round", "round.out", "round_", "sgn", "sgn.out", "sgn_", "sign",
      "sign.out", "sign_", "signbit", "signbit.out", "sin", "sin.out", "sin_", "sinh", "sinh.out", "sinh_", "sparse_mask",
      "sparse_resize_", "sparse_resize_and_clear_", "sqrt", "sqrt.out", "sqrt_", "sub.Tensor", "sub.out",
      "sub_.Tensor", "sum", "sum.dim_IntList", "tan", "tan.out", "tan_", "tanh", "tanh.out", "tanh_", "threshold_backward",
      "threshold_backward.grad_input", "trunc", "trunc.out", "trunc_", "unsqueeze", "zero_", "zeros.out"};
  return known;
}

const Names& of_compressed() {
  static const Names known = {
      "_conj_physical", "_sparse_csr_prod.dim_dtype", "_sparse_csr_sum.dim_dtype", "_to_dense",
      "_to_sparse_bsc", "_to_sparse_bsr", "_to_sparse_csc", "_to_sparse_csr", "abs", "abs.out", "abs_", "add.Tensor",
      "add.out", "add_.Tensor", "addmm", "addmm.out", "addmv.out", "angle", "angle.out", "asin", "asin.out", "asin_",
      "asinh", "asinh.out", "asinh_", "atan", "atan.out", "atan_", "atanh", "atanh.out", "atanh_", "ccol_indices", "ceil", "ceil.out", "ceil_", "clone", "conj_physical.out", "conj_physical_", "copy_", "deg2rad",
      "deg2rad.out", "deg2rad_", "dense_dim", "empty_like", "erf", "erf.out", "erf_", "erfinv",
      "erfinv.out", "erfinv_", "expm1", "expm1.out", "expm1_", "fill_.Scalar", "floor", "floor.out", "floor_", "frac",
      "frac.out", "frac_", "isinf", "isnan", "isneginf", "isneginf.out", "isposinf", "isposinf.out", "log1p", "log1p.out",
      "log1p_", "mm", "mm.out", "mul.Scalar", "mul.Tensor", "mul.out", "mul_.Scalar", "mul_.Tensor", "neg", "neg.out",
      "neg_", "rad2deg", "rad2deg.out", "rad2deg_", "relu", "relu_", "resize_", "resize_as_sparse_", "round",
      "round.out", "round_", "row_indices", "select.int", "select_copy.int", "sgn", "sgn.out", "sgn_", "sign", "sign.out",
      "sign_", "signbit", "signbit.out", "sin", "sin.out", "sin_", "sinh", "sinh.out", "sinh_", "sparse_dim", "sparse_mask",
      "sparse_sampled_addmm", "sparse_sampled_addmm.out", "sqrt", "sqrt.out", "sqrt_", "sum", "sum.dim_IntList", "tan",
      "tan.out", "tan_", "tanh", "tanh.out", "tanh_", "threshold_backward", "threshold_backward.grad_input",
      "triangular_solve.X", "trunc", "trunc.out", "trunc_", "zero_"};
  return known;
}

// Without layers of a transformer: PyTorch's kernels of these call others of the device past the dispatcher.
const Names& of_nested() {
  static const Names known = {
      "_fused_sdp_choice", "_nested_from_padded_and_nested_example",
      "_nested_select_backward", "_nested_tensor_size", "_nested_tensor_softmax_with_shape",
      "_nested_tensor_storage_offsets", "_nested_tensor_strides", "_safe_softmax",
      "_softmax", "_softmax_backward_data", "_to_copy",
      "abs", "abs_", "add.Tensor", "add_.Tensor", "alias",
      "all.dim", "bmm", "cat", "chunk", "clone", "copy_", "cos", "detach", "div.Scalar", "div.Tensor", "embedding",
      "empty_like", "eq.Scalar", "eq.Tensor", "fill_.Scalar", "fill_.Tensor", "ge.Scalar", "gelu", "gelu_", "gelu_backward",
      "gt.Scalar", "is_same_size", "isinf", "isnan", "isneginf", "isposinf", "linear", "linear_backward", "logical_not",
      "logical_not_", "masked_fill.Scalar", "matmul", "matmul.out", "matmul_backward", "mul.Scalar", "mul.Tensor",
      "mul_.Scalar", "mul_.Tensor", "narrow", "native_dropout", "native_dropout_backward",
      "neg", "neg_", "normal_", "ones_like", "relu", "relu_", "select.int", "sgn", "sgn_",
      "silu", "silu_", "silu_backward", "sin", "sqrt", "squeeze", "squeeze.dim", "squeeze.dims", "sub.Tensor", "tanh",
      "tanh_", "threshold_backward", "transpose.int", "unsqueeze", "value_selecting_reduction_backward", "view",
      "where.self", "where.self_out", "zero_"};
  return known;
}

// PyTorch's kernels of this operator for CUDA, which the list names, do nothing but refuse. By the vendor's test, the words are CUDA's.
void refuse_dense(const c10::OperatorHandle& /*op*/, torch::jit::Stack* /*stack*/) {
  TORCH_CHECK(false, "tensor.sspaddmm(...) can only be called on sparse tensors");
}

void refuse_sparse(const c10::OperatorHandle& /*op*/, torch::jit::Stack* /*stack*/) {
  TORCH_CHECK(false, "NYI: CUDA sspaddmm is not implemented");
}

// PyTorch's kernels of nested tensors are made of views and of operators of ordinary tensors, whatever device those are on.
void run_of_every_device(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::NestedTensorCPU), stack);
}

void check_wide(const Tensor& left, at::ScalarType type) {
  const auto given = left.scalar_type();
  TORCH_CHECK(
      type == given || (type == at::kFloat && (given == at::kHalf || given == at::kBFloat16)),
      "out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs");
}

void check_added(const Tensor& added, const Tensor& left, at::ScalarType type) {
  const auto given = added.scalar_type();
  TORCH_CHECK(given == type || given == left.scalar_type(), "self dtype must match either out_dtype or mat1 dtype");
}

// The inside of a kernel: autocast, which has no rule for these operators and lets their calls pass, converts nothing there.
struct BelowAutocast {
  c10::impl::ExcludeDispatchKeyGuard guard{c10::autocast_dispatch_keyset};
};

Tensor mm_of(const Tensor& left, const Tensor& right, at::ScalarType type) {
  const BelowAutocast below;
  check_wide(left, type);
  return at::mm(left.to(type), right.to(type));
}

Tensor bmm_of(const Tensor& left, const Tensor& right, at::ScalarType type) {
  const BelowAutocast below;
  check_wide(left, type);
  return at::bmm(left.to(type), right.to(type));
}

using Scalar = at::Scalar;

Tensor addmm_of(
    const Tensor& added, const Tensor& left, const Tensor& right, at::ScalarType type, const Scalar& beta, const Scalar& alpha) {
  const BelowAutocast below;
  check_wide(left, type);
  check_added(added, left, type);
  return at::addmm(added.to(type), left.to(type), right.to(type), beta, alpha);
}

Tensor baddbmm_of(
    const Tensor& added, const Tensor& left, const Tensor& right, at::ScalarType type, const Scalar& beta, const Scalar& alpha) {
  const BelowAutocast below;
  check_wide(left, type);
  check_added(added, left, type);
  return at::baddbmm(added.to(type), left.to(type), right.to(type), beta, alpha);
}

// The overload of `make` that writes into a given tensor.
template <auto make>
struct Into;

template <typename... Given, Tensor (*make)(Given...)>
struct Into<make> {
  static Tensor& call(Given... given, Tensor& out) {
    const auto made = make(given...);
    TORCH_CHECK(
        out.scalar_type() == made.scalar_type(), "out_dtype must be the same as the dtype of the provided out tensor");
    at::native::resize_output(out, made.sizes());
    return out.copy_(made);
  }
};

// `kept` is the share of elements that are kept, as in CUDA's.
std::tuple<Tensor, Tensor> fused_dropout(const Tensor& values, double kept, std::optional<at::Generator> generator) {
  const auto mask = at::empty_like(values, values.options().dtype(at::kByte)).bernoulli_(kept, generator);
  return {values * mask.to(values.scalar_type()) * (1.0 / kept), mask};
}

Tensor masked_scale(const Tensor& values, const Tensor& mask, double scale) {
  TORCH_CHECK(mask.scalar_type() == at::kByte, "mask should be torch.uint8 dtype");
  return values * mask.to(values.scalar_type()) * scale;
}

std::vector<int64_t> last_dims(at::IntArrayRef normalized_shape) {
  std::vector<int64_t> dims(normalized_shape.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    dims[i] = -static_cast<int64_t>(i) - 1;
  }
  return dims;
}

at::ScalarType wide_type(const Tensor& values) {
  return values.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

bool is_given(const OptionalTensor& tensor) {
  return tensor.has_value() && tensor->defined();
}

std::tuple<Tensor, Tensor> rms_norm(
    const Tensor& input, at::IntArrayRef normalized_shape, const OptionalTensor& weight, std::optional<double> eps) {
  const auto type = wide_type(input);
  const auto least = type == at::kDouble ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  const auto values = input.to(type);
  const auto factors = (values.square().mean(last_dims(normalized_shape), /*keepdim=*/true) + eps.value_or(least)).rsqrt();
  const auto normal = values * factors;
  return {(is_given(weight) ? normal * *weight : normal).to(input.scalar_type()), factors};
}

std::tuple<Tensor, Tensor> rms_norm_backward(
    const Tensor& grad_out,
    const Tensor& input,
    at::IntArrayRef normalized_shape,
    const Tensor& factors,
    const OptionalTensor& weight,
    std::array<bool, 2> mask) {
  const auto type = wide_type(input);
  const auto grad = grad_out.to(type), normal = input.to(type) * factors;
  const auto scaled = is_given(weight) ? grad * *weight : grad;
  const auto part = (scaled * normal).mean(last_dims(normalized_shape), /*keepdim=*/true);
  Tensor of_input, of_weight;
  if (mask[0]) {
    of_input = (factors * (scaled - normal * part)).to(input.scalar_type());
  }
  if (mask[1] && is_given(weight)) {
    of_weight = (grad * normal).sum_to_size(weight->sizes()).to(weight->scalar_type());
  }
  return {of_input, of_weight};
}

// What is registered stays so until the process ends.
torch::Library& library_for(c10::DispatchKey key) {
  return *new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
}

// Versions of torch know different operators. What shape.cpp, fallback.cpp and the like have registered stays.
bool is_free(const std::string& name, c10::DispatchKey key) {
  const auto dot = name.find('.');
  const auto overload = dot == std::string::npos ? "" : name.substr(dot + 1);
  const auto op = c10::Dispatcher::singleton().findOp({"aten::" + name.substr(0, dot), overload});
  return op.has_value() && !op->hasKernelForDispatchKey(key);
}

template <void (*kernel)(const c10::OperatorHandle&, torch::jit::Stack*)>
void add(c10::DispatchKey key, const Names& names) {
  auto& library = library_for(key);
  for (const auto* name : names) {
    if (is_free(name, key)) {
      library.impl(name, torch::CppFunction::makeFromBoxedFunction<kernel>());
    }
  }
}

class Own {
 public:
  template <typename Kernel>
  void operator()(const char* name, Kernel kernel) {
    if (is_free(name, c10::DispatchKey::PrivateUse1)) {
      library_.impl(name, kernel);
    }
  }

 private:
  torch::Library& library_ = library_for(c10::DispatchKey::PrivateUse1);
};

// The CPU has no kernels of these.
void add_own() {
  Own add;
  add("mm.dtype", &mm_of);
  add("mm.dtype_out", &Into<&mm_of>::call);
  add("bmm.dtype", &bmm_of);
  add("bmm.dtype_out", &Into<&bmm_of>::call);
  add("addmm.dtype", &addmm_of);
  add("addmm.dtype_out", &Into<&addmm_of>::call);
  add("baddbmm.dtype", &baddbmm_of);
  add("baddbmm.dtype_out", &Into<&baddbmm_of>::call);
  add("_fused_dropout", &fused_dropout);
  add("_masked_scale", &masked_scale);
  add("_fused_rms_norm", &rms_norm);
  add("_fused_rms_norm_backward", &rms_norm_backward);
  add("batch_norm_gather_stats", &norm_gather_stats);
}

// They read what a tensor is made of. The fallback asks them itself, in order to take a tensor apart.
void add_members() {
  auto& sparse = library_for(c10::DispatchKey::SparsePrivateUse1);
  sparse.impl("_dimI", &at::native::sparse_dim_sparse);
  sparse.impl("_dimV", &at::native::dense_dim_sparse);
  sparse.impl("dense_dim", &at::native::dense_dim_sparse);
  auto& compressed = library_for(c10::DispatchKey::SparseCsrPrivateUse1);
  compressed.impl("ccol_indices", &at::native::ccol_indices_sparse_csr);
  compressed.impl("row_indices", &at::native::row_indices_sparse_csr);
  compressed.impl("sparse_dim", &at::native::sparse_dim_sparse_csr);
  compressed.impl("dense_dim", &at::native::dense_dim_sparse_csr);
  // Without an argument that is a tensor, the fallback finds no kernel.
  sparse.impl("empty.memory_format", &at::native::empty_sparse);
  sparse.impl("_sparse_coo_tensor_with_dims", &at::native::new_with_dims_sparse);
  compressed.impl("empty.memory_format", &at::native::empty_sparse_compressed);
  // The values are a tensor of the device, whose generator they are drawn with.
  compressed.impl("normal_", &at::native::normal_sparse_csr_);
}

} // namespace

void register_later_operators() {
  if (!since(Release::v2_9_1)) {
    return;
  }
  add_members();
  add<&run_on_cpu>(c10::DispatchKey::PrivateUse1, of_dense());
  add<&run_on_cpu>(c10::DispatchKey::SparsePrivateUse1, of_sparse());
  add<&run_on_cpu>(c10::DispatchKey::SparseCsrPrivateUse1, of_compressed());
  add<&refuse_dense>(c10::DispatchKey::PrivateUse1, {"sspaddmm.out"});
  add<&refuse_sparse>(c10::DispatchKey::SparsePrivateUse1, {"sspaddmm.out"});
  add<&run_of_every_device>(c10::DispatchKey::NestedTensorPrivateUse1, of_nested());
  add_own();
}

} // namespace musasim
