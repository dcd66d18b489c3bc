// Products of matrices of eight-bit floating-point numbers, as torch_musa takes them. Not every torch has a kernel for the CPU.
#include "../runtime/device.h"

#include <ATen/ATen.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include <optional>

namespace musasim {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

void check_matrices(const Tensor& left, const Tensor& right) {
  TORCH_CHECK(left.dim() == 2, "mat1 must be a matrix");
  TORCH_CHECK(right.dim() == 2, "mat2 must be a matrix");
  TORCH_CHECK(
      left.size(1) == right.size(0),
      "mat1 and mat2 shapes cannot be multiplied (",
      left.size(0),
      "x",
      left.size(1),
      " and ",
      right.size(0),
      "x",
      right.size(1),
      ")");
  TORCH_CHECK(
      c10::isFloat8Type(left.scalar_type()), "Expected mat1 to be Float8 matrix got ", left.scalar_type());
  TORCH_CHECK(
      c10::isFloat8Type(right.scalar_type()), "Expected mat2 to be Float8 matrix got ", right.scalar_type());
}

void check_scale(const Tensor& scale, const char* name, int64_t length) {
  TORCH_CHECK(
      (scale.numel() == 1 || scale.numel() == length) && scale.scalar_type() == at::kFloat,
      name,
      " must be float scalar or float tensor of shape ",
      length,
      " but got ",
      scale.numel());
}

void check_bias(const OptionalTensor& bias, int64_t length, at::ScalarType result) {
  if (!bias.has_value()) {
    return;
  }
  TORCH_CHECK(bias->numel() == length, "Bias must be size ", length, " but got ", bias->numel());
  const auto type = bias->scalar_type();
  const bool fits = result == at::kFloat ? type == at::kFloat : type == at::kBFloat16 || type == at::kHalf;
  TORCH_CHECK(fits, "Wrong bias dtype: ", type, "which doesn't match out dtype: ", result);
}

Tensor scaled_matmul(
    const Tensor& left,
    const Tensor& right,
    const Tensor& left_scale,
    const Tensor& right_scale,
    const OptionalTensor& bias,
    const OptionalTensor& result_scale,
    std::optional<at::ScalarType> result_type,
    bool /*use_fast_accum*/) {
  const auto type = result_type.value_or(left.scalar_type());
  check_matrices(left, right);
  check_scale(left_scale, "scale_a", left.size(0));
  check_scale(right_scale, "scale_b", right.size(1));
  if (result_scale.has_value()) {
    check_scale(*result_scale, "scale_result", left.size(0));
  }
  check_bias(bias, right.size(1), type);
  auto product = at::matmul(left.to(at::kFloat), right.to(at::kFloat));
  product = product * left_scale.reshape({-1, 1}) * right_scale.reshape({1, -1});
  if (bias.has_value()) {
    product = product + bias->reshape({1, -1});
  }
  if (result_scale.has_value()) {
    product = product / result_scale->reshape({-1, 1});
  }
  return product.to(type);
}

Tensor& scaled_matmul_out(
    const Tensor& left,
    const Tensor& right,
    const Tensor& left_scale,
    const Tensor& right_scale,
    const OptionalTensor& bias,
    const OptionalTensor& result_scale,
    std::optional<at::ScalarType> type,
    bool use_fast_accum,
    Tensor& out) {
  TORCH_CHECK(!type || *type == out.scalar_type(), "out_dtype must match output matrix type");
  const auto made =
      scaled_matmul(left, right, left_scale, right_scale, bias, result_scale, out.scalar_type(), use_fast_accum);
  at::native::resize_output(out, made.sizes());
  return out.copy_(made);
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("_scaled_mm", &scaled_matmul);
  library.impl("_scaled_mm.out", &scaled_matmul_out);
}

} // namespace musasim
