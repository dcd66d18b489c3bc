// What quantized layers and convolutions of eight bits have in common. The CPU has kernels for unsigned values only.
#include "quantized.h"

#include "../runtime/device.h"

namespace musasim {

using at::Tensor;

void check_mudnn(bool supported, const char* call) {
  TORCH_CHECK(supported, "apply_impl_helper MUDNN failed in: ", call);
}

void check_on_device(const Tensor& input) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      input.device().type() == kMusa,
      "Could not run the operator with arguments from the 'QuantizedPrivateUse1' backend.");
}

Tensor whole_numbers(const Tensor& quantized) {
  return quantized.int_repr().to(at::kDouble);
}

bool symmetric(const Tensor& quantized) {
  const auto scheme = quantized.qscheme();
  const bool one_scale = scheme == at::kPerTensorAffine || scheme == at::kPerTensorSymmetric;
  return quantized.scalar_type() == at::kQInt8 && one_scale && quantized.q_zero_point() == 0;
}

Tensor requantize(
    const Tensor& sums,
    double scale,
    const std::optional<Tensor>& addend,
    Activation activation,
    double output_scale,
    at::MemoryFormat format) {
  auto values = sums * scale;
  if (addend.has_value() && addend->defined()) {
    values = values + *addend;
  }
  if (activation == Activation::relu) {
    values = values.relu();
  } else if (activation == Activation::silu) {
    values = at::silu(values);
  }
  return at::quantize_per_tensor(values.to(at::kFloat).contiguous(format), output_scale, 0, at::kQInt8);
}

} // namespace musasim
