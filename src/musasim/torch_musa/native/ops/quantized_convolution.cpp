// torch.ao.nn.quantized.Conv2d, and its fusions with an addition and an activation: signed eight bits, without zero points.
#include "fallback.h"
#include "quantized.h"

#include <ATen/native/quantized/PackedParams.h>
#include <ATen/native/quantized/cpu/QuantUtils.h>
#include <torch/library.h>

#include <tuple>

namespace musasim {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;
using Numbers = torch::List<int64_t>;
using ConvParams = c10::intrusive_ptr<ConvPackedParamsBase<2>>;

struct Window {
  Numbers stride, padding, output_padding, dilation;
  int64_t groups;
};

// Sums of whole numbers in double, which are exact. at::conv2d refuses doubles on this device, as muDNN does.
Tensor exact_sums(const Tensor& input, const Tensor& weight, const Window& window) {
  auto& dispatcher = c10::Dispatcher::singleton();
  static const auto op = dispatcher.findSchemaOrThrow("aten::convolution_overrideable", "");
  static const auto kernel = dispatcher.findSchemaOrThrow("aten::convolution", "");
  torch::jit::Stack stack;
  torch::jit::push(
      stack,
      whole_numbers(input),
      whole_numbers(weight),
      c10::IValue(),
      window.stride,
      window.padding,
      window.dilation,
      false,
      window.output_padding,
      window.groups);
  run_on_cpu_as(op, kernel, &stack);
  return torch::jit::pop(stack).toTensor();
}

class PackedConvolution final : public ConvPackedParamsBase<2> {
 public:
  PackedConvolution(const Tensor& weight, OptionalTensor bias, Window window)
      : weight_(weight.contiguous(at::MemoryFormat::ChannelsLast)), bias_(std::move(bias)), window_(std::move(window)) {}

  Tensor apply(const Tensor& input, double scale, int64_t zero_point) override {
    return run(input, {}, Activation::none, scale, zero_point);
  }

  Tensor apply_relu(const Tensor& input, double scale, int64_t zero_point) override {
    return run(input, {}, Activation::relu, scale, zero_point);
  }

  Tensor apply_dynamic(const Tensor& /*input*/, bool /*reduce_range*/) override {
    TORCH_CHECK(false, "apply_dynamic is currently not reported"); // the vendor's words
  }

  std::tuple<Tensor, OptionalTensor> unpack() override {
    return {weight_, bias_};
  }

  Numbers stride() const override {
    return window_.stride;
  }
  Numbers padding() const override {
    return window_.padding;
  }
  Numbers output_padding() const override {
    return window_.output_padding;
  }
  Numbers dilation() const override {
    return window_.dilation;
  }
  int64_t groups() const override {
    return window_.groups;
  }
  bool transpose() const override {
    return false;
  }

  Tensor run(
      const Tensor& input,
      const OptionalTensor& accumulated,
      Activation activation,
      double scale,
      int64_t zero_point) const {
    check_on_device(input);
    const auto scheme = input.qscheme();
    TORCH_CHECK(
        scheme == at::kPerTensorAffine || scheme == at::kPerTensorSymmetric,
        "Conv2d only supports per-tensor quantized activation");
    TORCH_CHECK(
        !accumulated.has_value() || accumulated->is_quantized(), "accum tensor in qconv must be a quantized Tensor");
    const bool addition = !accumulated.has_value() || symmetric(*accumulated);
    check_mudnn(symmetric(input) && addition && zero_point == 0, "RunFusion");
    const auto sums = exact_sums(input, weight_, window_);
    const auto factor = input.q_scale() * weight_.q_scale();
    return requantize(sums, factor, addend(accumulated), activation, scale, at::MemoryFormat::ChannelsLast);
  }

 private:
  OptionalTensor addend(const OptionalTensor& accumulated) const {
    OptionalTensor made;
    if (bias_.has_value() && bias_->numel() != 0) {
      made = bias_->view({1, -1, 1, 1});
    }
    if (accumulated.has_value()) {
      const auto values = whole_numbers(*accumulated) * accumulated->q_scale();
      made = made.has_value() ? *made + values : values;
    }
    return made;
  }

  Tensor weight_;
  OptionalTensor bias_;
  Window window_;
};

void check_weight(const Tensor& weight, const OptionalTensor& bias) {
  const auto scheme = weight.qscheme();
  TORCH_CHECK(
      scheme == at::kPerTensorAffine || scheme == at::kPerTensorSymmetric, "Unsupported qscheme: ", toString(scheme));
  TORCH_CHECK(weight.dim() == 4, "Weights are expected to have 4 dimensions");
  TORCH_CHECK(
      weight.scalar_type() == at::kQInt8, "requires weights in format QInt8, but got ", weight.scalar_type());
  TORCH_CHECK(
      weight.q_zero_point() == 0,
      "requires weights are quantized in per-tensor and symmetric quantization, zero_point should be 0, which is ",
      weight.q_zero_point());
  if (bias.has_value()) {
    TORCH_CHECK(bias->dim() == 1, "bias should be a vector (1D Tensor)");
    TORCH_CHECK(bias->size(0) == weight.size(0), "bias should have K elements: ", weight.size(0));
  }
}

// PyTorch's own kernels of these operators take tensors by value, and all kernels of an operator have to have one signature.
ConvParams prepack_conv2d(
    Tensor weight, OptionalTensor bias, Numbers stride, Numbers padding, Numbers dilation, int64_t groups) {
  TORCH_CHECK(stride.size() == 2, "stride should contain 2 elements for 2D convolution.");
  TORCH_CHECK(
      padding.size() == 2,
      "quantized::conv_prepack (mudnn): Specify front/top/left padding only. end/bottom/right padding assumed to be "
      "equal to front/top/left");
  TORCH_CHECK(
      dilation.size() == 2,
      "quantized::conv_prepack (mudnn): dilation should contain 2 elements for 2D convolution.");
  check_weight(weight, bias);
  Window window{std::move(stride), std::move(padding), Numbers({0, 0}), std::move(dilation), groups};
  return c10::make_intrusive<PackedConvolution>(weight, std::move(bias), std::move(window));
}

// One dimension is packed as two, the first of which is one long.
ConvParams prepack_conv1d(
    Tensor weight, OptionalTensor bias, Numbers stride, Numbers padding, Numbers dilation, int64_t groups) {
  return prepack_conv2d(
      weight.dim() == 3 ? weight.unsqueeze(-2) : weight,
      std::move(bias),
      quant_utils::MakeArgForConv1d(stride, 1),
      quant_utils::MakeArgForConv1d(padding, 0),
      quant_utils::MakeArgForConv1d(dilation, 1),
      groups);
}

Tensor fused_convolution(
    const Tensor& input,
    const OptionalTensor& accumulated,
    const ConvParams& packed,
    Activation activation,
    double scale,
    int64_t zero_point) {
  const auto* parameters = dynamic_cast<const PackedConvolution*>(packed.get());
  TORCH_CHECK(parameters != nullptr, "the parameters of the convolution were packed on another device than its input");
  return parameters->run(input, accumulated, activation, scale, zero_point);
}

template <Activation activation>
Tensor quantized_conv2d(Tensor input, const ConvParams& packed, double scale, int64_t zero_point) {
  return fused_convolution(input, {}, packed, activation, scale, zero_point);
}

template <Activation activation>
Tensor quantized_conv2d_add(
    Tensor input, Tensor accumulated, const ConvParams& packed, double scale, int64_t zero_point) {
  return fused_convolution(input, accumulated, packed, activation, scale, zero_point);
}

} // namespace

// The vendor's torch declares these two.
TORCH_LIBRARY_FRAGMENT(quantized, library) {
  library.def(
      "conv2d_silu.new(Tensor qx, __torch__.torch.classes.quantized.Conv2dPackedParamsBase packed_weight, "
      "float output_scale, int output_zero_point) -> Tensor");
  library.def(
      "conv2d_add_silu(Tensor qx, Tensor qaccum, __torch__.torch.classes.quantized.Conv2dPackedParamsBase packed_weight, "
      "float output_scale, int output_zero_point) -> Tensor");
}

TORCH_LIBRARY_IMPL(quantized, QuantizedPrivateUse1, library) {
  library.impl("conv1d_prepack", &prepack_conv1d);
  library.impl("conv2d_prepack", &prepack_conv2d);
  library.impl("conv2d.new", &quantized_conv2d<Activation::none>);
  library.impl("conv2d_relu.new", &quantized_conv2d<Activation::relu>);
  library.impl("conv2d_silu.new", &quantized_conv2d<Activation::silu>);
  library.impl("conv2d_add", &quantized_conv2d_add<Activation::none>);
  library.impl("conv2d_add_relu", &quantized_conv2d_add<Activation::relu>);
  library.impl("conv2d_add_silu", &quantized_conv2d_add<Activation::silu>);
}

} // namespace musasim
