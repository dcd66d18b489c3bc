// Three operators that the vendor's torch declares: a linear layer and convolutions whose scales are arguments. As in
// torch_musa, the values are computed in single precision.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <optional>
#include <string_view>

namespace musasim {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;
using Numbers = torch::List<int64_t>;
using Scalars = torch::List<std::optional<at::Scalar>>;
using OptionalType = std::optional<at::ScalarType>;

// A tensor of whole numbers and what they stand for.
struct WholeNumbers {
  const Tensor& values;
  double scale;
  int64_t zero_point;

  Tensor real() const {
    return (values.to(at::kFloat) - zero_point) * scale;
  }
};

struct PointwiseOutput {
  double scale;
  int64_t zero_point;
  at::ScalarType type;

  Tensor of(const Tensor& real) const {
    if (type != at::kByte && type != at::kChar) {
      return real.to(type);
    }
    const auto rounded = (real / scale + zero_point).round();
    return (type == at::kByte ? rounded.clamp(0, 255) : rounded.clamp(-128, 127)).to(type);
  }
};

struct PointwiseWeight {
  const Tensor& weight;
  const Tensor& scales;
  const Tensor& zero_points;
  const OptionalTensor& bias;
  const Numbers& stride;
  const Numbers& padding;
  const Numbers& dilation;
  int64_t groups;

  Tensor of(const Tensor& input) const {
    const auto real = (weight.to(at::kFloat) - zero_points.view({-1, 1, 1, 1})) * scales.view({-1, 1, 1, 1});
    return at::conv2d(input, real, bias, stride.vec(), padding.vec(), dilation.vec(), groups);
  }
};

// torch_musa knows these activations here, and leaves every other name out without a word.
Tensor activated(const Tensor& x, std::string_view name) {
  return name == "relu" ? at::relu(x) : name == "tanh" ? at::tanh(x) : name == "gelu" ? at::gelu(x) : x;
}

Tensor pointwise_linear(
    const Tensor& input,
    double scale,
    int64_t zero_point,
    const Tensor& weight,
    const Tensor& scales,
    const Tensor& zero_points,
    const OptionalTensor& bias,
    double output_scale,
    int64_t output_zero_point,
    OptionalType output_type,
    std::string_view activation,
    const Scalars& /*arguments*/,
    std::string_view /*algorithm*/) {
  TORCH_CHECK(input.dim() == 2, "qlinear musa: input dim should be 2, but got", input.dim());
  const auto real = (weight.to(at::kFloat) - zero_points) * scales;
  auto out = at::matmul(WholeNumbers{input, scale, zero_point}.real(), real);
  if (bias.has_value() && bias->defined()) {
    out = out + *bias;
  }
  const PointwiseOutput output{output_scale, output_zero_point, output_type.value_or(input.scalar_type())};
  return output.of(activated(out, activation));
}

Tensor pointwise_convolution(
    const Tensor& input,
    double scale,
    int64_t zero_point,
    const Tensor& weight,
    const Tensor& scales,
    const Tensor& zero_points,
    const OptionalTensor& bias,
    const Numbers& stride,
    const Numbers& padding,
    const Numbers& dilation,
    int64_t groups,
    double output_scale,
    int64_t output_zero_point,
    OptionalType output_type,
    std::string_view activation,
    const Scalars& /*arguments*/,
    std::optional<std::string_view> /*algorithm*/) {
  TORCH_CHECK(
      activation == "none" || activation == "relu" || activation == "hardtanh" || activation == "hardswish" ||
          activation == "swish",
      "We support quantized convolution without any post-ops or combinations for Quantized Conv + ReLU, Hardtanh, GELU, "
      "Swish, and Hardswish are supported. However, encountered unsupported post operation:",
      activation,
      ".");
  const PointwiseWeight conv{weight, scales, zero_points, bias, stride, padding, dilation, groups};
  const auto out = conv.of(WholeNumbers{input, scale, zero_point}.real());
  const PointwiseOutput output{output_scale, output_zero_point, output_type.value_or(input.scalar_type())};
  return output.of(activation == "relu" ? at::relu(out) : out); // torch_musa leaves the other three out
}

Tensor pointwise_convolution_and_sum(
    const Tensor& input,
    double scale,
    int64_t zero_point,
    const Tensor& weight,
    const Tensor& scales,
    const Tensor& zero_points,
    const Tensor& accumulated,
    const OptionalTensor& bias,
    const Numbers& stride,
    const Numbers& padding,
    const Numbers& dilation,
    int64_t groups,
    double output_scale,
    int64_t output_zero_point,
    OptionalType output_type,
    double accumulated_scale,
    int64_t accumulated_zero_point,
    std::string_view sum,
    const std::optional<at::Scalar>& alpha,
    std::optional<std::string_view> activation,
    const Scalars& /*arguments*/,
    std::optional<std::string_view> /*algorithm*/) {
  const auto after = activation.value_or("none");
  TORCH_CHECK(
      input.dim() == 4 && sum == "sum" && (after == "none" || after == "relu"),
      "post_op sum or post_op sum_relu is supported for quantized pointwise conv2d. Got binary_post_op: ",
      sum,
      " unary_post_op: ",
      after,
      ".");
  const auto type = output_type.value_or(input.scalar_type());
  TORCH_CHECK(
      (type != at::kFloat && type != at::kBFloat16) || accumulated_scale == 1.0,
      "fp32 or bf16 output, accum_scale must be 1.0.");
  const PointwiseWeight conv{weight, scales, zero_points, bias, stride, padding, dilation, groups};
  const auto added = WholeNumbers{accumulated, accumulated_scale, accumulated_zero_point}.real();
  const auto out =
      conv.of(WholeNumbers{input, scale, zero_point}.real()) + added * (alpha.has_value() ? alpha->to<double>() : 1.0);
  return PointwiseOutput{output_scale, output_zero_point, type}.of(after == "relu" ? at::relu(out) : out);
}

#define MUSASIM_WEIGHT "Tensor qx, float x_scale, int x_zero_point, Tensor qw, Tensor w_scale, Tensor w_zero_point, "
#define MUSASIM_WINDOW "Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups, "
#define MUSASIM_OUTPUT "float output_scale, int output_zero_point, ScalarType? output_dtype, "

} // namespace

TORCH_LIBRARY_FRAGMENT(quantized, library) {
  library.def("linear_per_tensor(" MUSASIM_WEIGHT "Tensor? bias, " MUSASIM_OUTPUT
              "str post_op_name, Scalar?[] post_op_args, str post_op_algorithm) -> Tensor");
  library.def("conv(" MUSASIM_WEIGHT MUSASIM_WINDOW MUSASIM_OUTPUT
              "str attr, Scalar?[] scalars, str? algorithm) -> Tensor");
  library.def("conv_binary(" MUSASIM_WEIGHT "Tensor qaccum, " MUSASIM_WINDOW MUSASIM_OUTPUT
              "float accum_scale, int accum_zero_point, str binary_attr, Scalar? alpha, str? unary_attr, "
              "Scalar?[] unary_scalars, str? unary_algorithm) -> Tensor");
}

TORCH_LIBRARY_IMPL(quantized, PrivateUse1, library) {
  library.impl("linear_per_tensor", &pointwise_linear);
  library.impl("conv", &pointwise_convolution);
  library.impl("conv_binary", &pointwise_convolution_and_sum);
}

} // namespace musasim
