// Operators that PyTorch calls only on a device, so the CPU has no kernel for them.
#include "fallback.h"

#include "../runtime/device.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/library.h>

#include <tuple>

namespace musasim {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

const c10::OperatorHandle& find_operator(const char* name) {
  // Leaked like every handle that may be used during interpreter shutdown.
  return *new c10::OperatorHandle(c10::Dispatcher::singleton().findSchemaOrThrow(name, ""));
}

// muDNN convolves these only; the CPU takes double, integers and complex numbers too.
bool is_type_of_convolutions(at::ScalarType type) {
  return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

// Same arguments as aten::convolution, which picks the CPU's implementation.
void convolution(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  static const auto& kernel = find_operator("aten::convolution");
  const auto* arguments = stack->data() + (stack->size() - op.schema().arguments().size());
  const auto input = arguments[0].toTensor(), weight = arguments[1].toTensor();
  TORCH_CHECK(
      weight.device() == input.device(),
      "Expected weight tensor and input tensor to be on the same MUSA device, but got weight on ",
      weight.device(),
      " and input on ",
      input.device());
  TORCH_CHECK(
      is_type_of_convolutions(weight.scalar_type()),
      "Dtype of weight tensor of Convolution only support Float32 and Half/BFloat16, but now it is ",
      weight.scalar_type());
  TORCH_CHECK(
      input.scalar_type() == weight.scalar_type(), "input dtype and weight dtype must be the same in Convolution");
  run_on_cpu_as(op, kernel, stack);
}

// Without a kernel of its own, a device gets PyTorch's composition, which rounds halves in between; torch_musa has a kernel.
void mish_backward(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  run_on_cpu(op, stack);
}

// torch_musa's takes halves, for which the CPU has no kernel.
void ctc_loss(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  auto& probabilities = (*stack)[stack->size() - op.schema().arguments().size()];
  const bool half = probabilities.toTensor().scalar_type() == at::kHalf;
  if (half) {
    probabilities = probabilities.toTensor().to(at::kFloat);
  }
  run_on_cpu(op, stack);
  for (auto result = stack->end() - 2; half && result != stack->end(); ++result) {
    *result = result->toTensor().to(at::kHalf);
  }
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad_output,
    const Tensor& input,
    const Tensor& weight,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation,
    bool transposed,
    at::IntArrayRef output_padding,
    int64_t groups,
    std::array<bool, 3> output_mask) {
  static const auto& kernel = find_operator("aten::convolution_backward");
  TORCH_CHECK(
      weight.device() == input.device() && weight.device() == grad_output.device(),
      "Expected weight tensor, input tensor and grad_output tensor to be on the same MUSA device, but got weight on ",
      weight.device(),
      " input on ",
      input.device(),
      " and grad_output on ",
      grad_output.device());
  TORCH_CHECK(
      is_type_of_convolutions(weight.scalar_type()),
      "Dtype of weight tensor of Convolution Backward only support Float32 and Float16/Bfloat16, but now is ",
      weight.scalar_type());
  TORCH_CHECK(
      weight.scalar_type() == input.scalar_type() && weight.scalar_type() == grad_output.scalar_type(),
      "input's dtype, weight's dtype and grad_output's dtype must be the same in ConvolutionBwd");
  const auto channels = transposed ? weight.size(1) * groups : weight.size(0);
  torch::jit::Stack stack;
  torch::jit::push(
      stack,
      grad_output,
      input,
      weight,
      c10::IValue(std::vector<int64_t>{channels}),
      stride,
      padding,
      dilation,
      transposed,
      output_padding,
      groups,
      c10::List<bool>({output_mask[0], output_mask[1], output_mask[2]}));
  run_on_cpu(kernel, &stack);
  return {stack[0].toTensor(), stack[1].toTensor(), stack[2].toTensor()};
}

Tensor with_bias(const Tensor& gates, const OptionalTensor& bias) {
  return bias.has_value() && bias->defined() ? gates + *bias : gates;
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell(
    const Tensor& input_gates,
    const Tensor& hidden_gates,
    const Tensor& cx,
    const OptionalTensor& input_bias,
    const OptionalTensor& hidden_bias) {
  const auto gates = with_bias(input_gates, input_bias) + with_bias(hidden_gates, hidden_bias);
  const auto parts = gates.chunk(4, 1);
  const auto in = parts[0].sigmoid();
  const auto forget = parts[1].sigmoid();
  const auto cell = parts[2].tanh();
  const auto out = parts[3].sigmoid();
  const auto cy = forget * cx + in * cell;
  const auto hy = out * cy.tanh();
  return {hy, cy, at::cat({in, forget, cell, out}, 1)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(
    const OptionalTensor& grad_hy_,
    const OptionalTensor& grad_cy_,
    const Tensor& cx,
    const Tensor& cy,
    const Tensor& workspace,
    bool has_bias) {
  const bool has_hy = grad_hy_.has_value() && grad_hy_->defined();
  const bool has_cy = grad_cy_.has_value() && grad_cy_->defined();
  if (!has_hy && !has_cy) {
    return {};
  }
  const auto parts = workspace.chunk(4, 1);
  const auto& in = parts[0];
  const auto& forget = parts[1];
  const auto& cell = parts[2];
  const auto& out = parts[3];
  const auto tanh_cy = cy.tanh();
  const auto grad_hy = has_hy ? *grad_hy_ : at::zeros_like(cx);
  auto grad_cell = grad_hy * out * (1 - tanh_cy * tanh_cy);
  if (has_cy) {
    grad_cell = grad_cell + *grad_cy_;
  }
  const auto grad_gates = at::cat(
      {grad_cell * cell * in * (1 - in),
       grad_cell * cx * forget * (1 - forget),
       grad_cell * in * (1 - cell * cell),
       grad_hy * tanh_cy * out * (1 - out)},
      1);
  return {grad_gates, grad_cell * forget, has_bias ? grad_gates.sum(0) : Tensor()};
}

// The workspace holds reset, update, new, h and the hidden part of new, in this order, as CUDA's kernel leaves it.
std::tuple<Tensor, Tensor> gru_cell(
    const Tensor& input_gates,
    const Tensor& hidden_gates,
    const Tensor& hx,
    const OptionalTensor& input_bias,
    const OptionalTensor& hidden_bias) {
  const auto from_input = with_bias(input_gates, input_bias).chunk(3, 1);
  const auto from_hidden = with_bias(hidden_gates, hidden_bias).chunk(3, 1);
  const auto reset = (from_input[0] + from_hidden[0]).sigmoid();
  const auto update = (from_input[1] + from_hidden[1]).sigmoid();
  const auto fresh = (from_input[2] + reset * from_hidden[2]).tanh();
  const auto hy = (hx - fresh) * update + fresh;
  return {hy, at::cat({reset, update, fresh, hx, from_hidden[2]}, 1)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(
    const Tensor& grad_hy, const Tensor& workspace, bool has_bias) {
  const auto parts = workspace.chunk(5, 1);
  const auto& reset = parts[0];
  const auto& update = parts[1];
  const auto& fresh = parts[2];
  const auto& hx = parts[3];
  const auto& hidden_new = parts[4];
  const auto grad_update = grad_hy * (hx - fresh) * update * (1 - update);
  const auto grad_new = grad_hy * (1 - update) * (1 - fresh * fresh);
  const auto grad_reset = grad_new * hidden_new * reset * (1 - reset);
  const auto grad_input = at::cat({grad_reset, grad_update, grad_new}, 1);
  const auto grad_hidden = at::cat({grad_reset, grad_update, grad_new * reset}, 1);
  return {
      grad_input,
      grad_hidden,
      grad_hy * update,
      has_bias ? grad_input.sum(0) : Tensor(),
      has_bias ? grad_hidden.sum(0) : Tensor()};
}

// SyncBatchNorm. Channels are dimension 1; statistics are kept in single precision for half inputs.
at::DimVector all_but_channels(const Tensor& input) {
  at::DimVector dims;
  for (int64_t i = 0; i < input.dim(); ++i) {
    if (i != 1) {
      dims.push_back(i);
    }
  }
  return dims;
}

Tensor along_channels(const Tensor& values, const Tensor& input) {
  at::DimVector shape(input.dim(), 1);
  shape[1] = values.size(0);
  return values.view(shape);
}

at::ScalarType statistics_type(const Tensor& input) {
  const auto type = input.scalar_type();
  return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

std::tuple<Tensor, Tensor> norm_stats(const Tensor& input, double eps) {
  const auto values = input.to(statistics_type(input));
  const auto dims = all_but_channels(input);
  const auto mean = values.mean(dims);
  const auto variance = values.var(dims, /*unbiased=*/false);
  return {mean, (variance + eps).rsqrt()};
}

Tensor norm_elemt(
    const Tensor& input,
    const OptionalTensor& weight,
    const OptionalTensor& bias,
    const Tensor& mean,
    const Tensor& invstd,
    double /*eps*/) {
  auto out = (input.to(statistics_type(input)) - along_channels(mean, input)) * along_channels(invstd, input);
  if (weight.has_value() && weight->defined()) {
    out = out * along_channels(*weight, input);
  }
  if (bias.has_value() && bias->defined()) {
    out = out + along_channels(*bias, input);
  }
  return out.to(input.scalar_type());
}

void update_running(const OptionalTensor& running, const Tensor& fresh, double momentum) {
  if (running.has_value() && running->defined()) {
    running->mul_(1 - momentum).add_(fresh.to(running->scalar_type()), momentum);
  }
}

std::tuple<Tensor, Tensor> norm_gather_stats_with_counts(
    const Tensor& input,
    const Tensor& mean,
    const Tensor& invstd,
    const OptionalTensor& running_mean,
    const OptionalTensor& running_var,
    double momentum,
    double eps,
    const Tensor& counts) {
  const auto type = statistics_type(input);
  const auto weights = counts.to(type).view({-1, 1});
  const auto total = weights.sum();
  const auto means = mean.to(type);
  const auto joint_mean = (means * weights).sum(0) / total;
  const auto variances = invstd.to(type).pow(-2) - eps;
  const auto joint_variance = ((variances + (means - joint_mean).pow(2)) * weights).sum(0) / total;
  update_running(running_mean, joint_mean, momentum);
  update_running(running_var, joint_variance * total / (total - 1), momentum);
  return {joint_mean, (joint_variance + eps).rsqrt()};
}

std::tuple<Tensor, Tensor> norm_gather_stats(
    const Tensor& input,
    const Tensor& mean,
    const Tensor& invstd,
    const OptionalTensor& running_mean,
    const OptionalTensor& running_var,
    double momentum,
    double eps,
    int64_t count) {
  const auto counts = at::full({mean.size(0)}, count, mean.options().dtype(statistics_type(input)));
  return norm_gather_stats_with_counts(
      input, mean, invstd, running_mean, running_var, momentum, eps, counts);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> norm_backward_reduce(
    const Tensor& grad_out,
    const Tensor& input,
    const Tensor& mean,
    const Tensor& invstd,
    const OptionalTensor& /*weight*/,
    bool input_g,
    bool weight_g,
    bool bias_g) {
  const auto type = statistics_type(input);
  const auto dims = all_but_channels(input);
  const auto grad = grad_out.to(type);
  const auto sum_dy = grad.sum(dims);
  const auto sum_dy_xmu = (grad * (input.to(type) - along_channels(mean, input))).sum(dims);
  return {
      input_g ? sum_dy : Tensor(),
      input_g ? sum_dy_xmu : Tensor(),
      weight_g ? sum_dy_xmu * invstd : Tensor(),
      bias_g ? sum_dy.clone() : Tensor()};
}

Tensor norm_backward_elemt(
    const Tensor& grad_out,
    const Tensor& input,
    const Tensor& mean,
    const Tensor& invstd,
    const OptionalTensor& weight,
    const Tensor& sum_dy,
    const Tensor& sum_dy_xmu,
    const Tensor& count) {
  const auto type = statistics_type(input);
  const auto total = count.sum().to(type);
  const auto centred = input.to(type) - along_channels(mean, input);
  const auto slope = along_channels(sum_dy_xmu / total * invstd * invstd, input);
  auto grad = (grad_out.to(type) - along_channels(sum_dy / total, input) - centred * slope) *
      along_channels(invstd, input);
  if (weight.has_value() && weight->defined()) {
    grad = grad * along_channels(weight->to(type), input);
  }
  return grad.to(input.scalar_type());
}

// Moving a quantized tensor to the host begins with an empty one there, which the CPU's kernel would put on the device.
Tensor empty_quantized(
    at::IntArrayRef size,
    const Tensor& like,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pin_memory,
    std::optional<at::MemoryFormat> format) {
  static const auto& kernel = find_operator("aten::empty_quantized");
  const auto place = device.value_or(like.device());
  if (place.type() == kMusa) {
    torch::jit::Stack stack;
    torch::jit::push(stack, size, like, dtype, layout, place, pin_memory, format);
    run_on_cpu(kernel, &stack);
    return stack[0].toTensor();
  }
  const auto options = like.options().device(place).pinned_memory(pin_memory.value_or(false));
  if (like.qscheme() == at::kPerTensorAffine) {
    return at::_empty_affine_quantized(size, options, like.q_scale(), like.q_zero_point(), format);
  }
  const auto scales = like.q_per_channel_scales().to(place);
  const auto zero_points = like.q_per_channel_zero_points().to(place);
  return at::_empty_per_channel_affine_quantized(
      size, scales, zero_points, like.q_per_channel_axis(), options, format);
}

// torch_musa's kernel for bags whose gradient is asked for takes no weights of samples, and does not say where a maximum was
// (EmbeddingBag.cpp). The one without gradients is CUDA's.
void embedding_bag(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  constexpr size_t mode = 4, weights_of_samples = 6;
  auto* arguments = stack->data() + (stack->size() - op.schema().arguments().size());
  const bool maximum = arguments[mode].toInt() == 2;
  arguments[weights_of_samples] = c10::IValue();
  run_on_cpu(op, stack);
  if (maximum) {
    stack->back().toTensor().zero_();
  }
}

// The CPU counts floating-point values only. Whole numbers up to 2**53 are exact in double precision.
Tensor histogram(const Tensor& values, int64_t bins, const at::Scalar& low, const at::Scalar& high) {
  static const auto& kernel = find_operator("aten::histc");
  TORCH_CHECK(
      values.scalar_type() != at::kHalf && values.scalar_type() != at::kDouble,
      "histc doesn't support half, double tenesor, now is ",
      values.scalar_type());
  const bool whole = at::isIntegralType(values.scalar_type(), /*includeBool=*/false);
  torch::jit::Stack stack;
  torch::jit::push(stack, whole ? values.to(at::kDouble) : values, bins, low, high);
  run_on_cpu(kernel, &stack);
  const auto counts = stack[0].toTensor();
  return whole ? counts.to(values.scalar_type()) : counts;
}

Tensor& histogram_out(const Tensor& values, int64_t bins, const at::Scalar& low, const at::Scalar& high, Tensor& out) {
  const auto counts = histogram(values, bins, low, high);
  out.resize_(counts.sizes());
  return out.copy_(counts);
}

// Only Kaiser windows, of all windows, are filled by a kernel for each device, which is not found by dispatch.
Tensor kaiser_window_beta(
    int64_t length,
    bool periodic,
    double beta,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pin_memory) {
  const auto window = at::kaiser_window(length, periodic, beta, dtype, layout, at::kCPU, pin_memory);
  return window.to(device.value_or(at::Device(kMusa)));
}

Tensor kaiser_window_periodic(
    int64_t length,
    bool periodic,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pin_memory) {
  return kaiser_window_beta(length, periodic, 12.0, dtype, layout, device, pin_memory);
}

Tensor kaiser_window(
    int64_t length,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pin_memory) {
  return kaiser_window_periodic(length, true, dtype, layout, device, pin_memory);
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("histc", &histogram);
  library.impl("histc.out", &histogram_out);
  library.impl("_ctc_loss", torch::CppFunction::makeFromBoxedFunction<&ctc_loss>());
  library.impl("_ctc_loss.Tensor", torch::CppFunction::makeFromBoxedFunction<&ctc_loss>());
  library.impl("_embedding_bag", torch::CppFunction::makeFromBoxedFunction<&embedding_bag>());
  library.impl("kaiser_window", &kaiser_window);
  library.impl("kaiser_window.periodic", &kaiser_window_periodic);
  library.impl("kaiser_window.beta", &kaiser_window_beta);
  library.impl("convolution_overrideable", torch::CppFunction::makeFromBoxedFunction<&convolution>());
  library.impl("convolution_backward_overrideable", &convolution_backward);
  library.impl("mish_backward", torch::CppFunction::makeFromBoxedFunction<&mish_backward>());
  library.impl("_thnn_fused_lstm_cell", &lstm_cell);
  library.impl("_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward);
  library.impl("_thnn_fused_gru_cell", &gru_cell);
  library.impl("_thnn_fused_gru_cell_backward", &gru_cell_backward);
  library.impl("batch_norm_stats", &norm_stats);
  library.impl("batch_norm_elemt", &norm_elemt);
  library.impl("batch_norm_gather_stats_with_counts", &norm_gather_stats_with_counts);
  library.impl("batch_norm_backward_reduce", &norm_backward_reduce);
  library.impl("batch_norm_backward_elemt", &norm_backward_elemt);
}

TORCH_LIBRARY_IMPL(aten, QuantizedPrivateUse1, library) {
  library.impl("empty_quantized", &empty_quantized);
}

} // namespace musasim
