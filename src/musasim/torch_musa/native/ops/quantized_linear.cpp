// torch.ao.nn.quantized.Linear: a linear layer of signed eight bits, without zero points.
#include "quantized.h"

#include <ATen/native/quantized/PackedParams.h>
#include <torch/library.h>

#include <tuple>

namespace musasim {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;
using LinearParams = c10::intrusive_ptr<LinearPackedParamsBase>;

class PackedLinear final : public LinearPackedParamsBase {
 public:
  PackedLinear(Tensor weight, OptionalTensor bias) : weight_(std::move(weight)), bias_(std::move(bias)) {}

  Tensor apply(Tensor input, double scale, int64_t zero_point) override {
    return run(input, Activation::none, scale, zero_point);
  }

  Tensor apply_relu(Tensor input, double scale, int64_t zero_point) override {
    return run(input, Activation::relu, scale, zero_point);
  }

  Tensor apply_dynamic(Tensor /*input*/, bool /*reduce_range*/) override {
    throw std::runtime_error("apply_relu_out is not implemented for this packed parameter type"); // the vendor's words
  }

  Tensor apply_dynamic_relu(Tensor input, bool reduce_range) override {
    return apply_dynamic(std::move(input), reduce_range);
  }

  std::tuple<Tensor, OptionalTensor> unpack() override {
    return {weight_, bias_};
  }

  OptionalTensor bias() override {
    return bias_;
  }

 private:
  Tensor run(const Tensor& input, Activation activation, double scale, int64_t zero_point) const {
    check_on_device(input);
    const auto scheme = input.qscheme();
    TORCH_CHECK(
        scheme == at::kPerTensorSymmetric || scheme == at::kPerTensorAffine, "Expect input data is symmetric quantized");
    TORCH_CHECK(
        input.scalar_type() == at::kQInt8,
        "Expected input data dtype ",
        toString(at::kQInt8),
        " but got ",
        toString(input.scalar_type()));
    TORCH_CHECK(input.dim() == 2 || input.dim() == 3, "Dimension of input tensor should be 2 or 3");
    auto sizes = input.sizes().vec();
    const auto rows = input.view({input.dim() == 3 ? sizes[0] * sizes[1] : sizes[0], sizes.back()});
    check_mudnn(symmetric(rows) && zero_point == 0, bias_.has_value() ? "RunWithBiasAdd" : "Run");
    const auto sums = at::matmul(whole_numbers(rows), whole_numbers(weight_).t());
    sizes.back() = weight_.size(0);
    const auto factor = input.q_scale() * weight_.q_scale();
    return requantize(sums, factor, bias_, activation, scale, at::MemoryFormat::Contiguous).view(sizes);
  }

  Tensor weight_;
  OptionalTensor bias_;
};

LinearParams prepack_linear(Tensor weight, OptionalTensor bias) {
  const auto scheme = weight.qscheme();
  TORCH_CHECK(
      scheme == at::kPerTensorSymmetric || (scheme == at::kPerTensorAffine && weight.q_zero_point() == 0),
      "Unsupported qscheme: ",
      toString(scheme));
  TORCH_CHECK(weight.scalar_type() == at::kQInt8, "Quantized Linear only supports QInt8 dtype");
  TORCH_CHECK(weight.dim() == 2, "Quantized Linear weight must be 2D tensor");
  if (bias.has_value()) {
    TORCH_CHECK(bias->dim() == 1, "bias should be a vector (1D Tensor)");
    TORCH_CHECK(bias->size(0) == weight.size(0), "bias should have K elements: ", weight.size(0));
  }
  return c10::make_intrusive<PackedLinear>(std::move(weight), std::move(bias));
}

Tensor quantized_linear(Tensor input, const LinearParams& packed, double scale, int64_t zero_point) {
  return packed->apply(std::move(input), scale, zero_point);
}

Tensor quantized_linear_relu(Tensor input, const LinearParams& packed, double scale, int64_t zero_point) {
  return packed->apply_relu(std::move(input), scale, zero_point);
}

} // namespace

TORCH_LIBRARY_IMPL(quantized, QuantizedPrivateUse1, library) {
  library.impl("linear_prepack", &prepack_linear);
  library.impl("linear", &quantized_linear);
  library.impl("linear_relu", &quantized_linear_relu);
}

} // namespace musasim
