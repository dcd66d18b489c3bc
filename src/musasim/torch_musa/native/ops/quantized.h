#pragma once

#include <ATen/ATen.h>

#include <optional>

namespace musasim {

enum class Activation { none, relu, silu };

// muDNN's refusal, worded as torch_musa words it.
void check_mudnn(bool supported, const char* call);

// An operator that the device has no kernel for runs the CPU's, which would take weights that were packed for the device.
void check_on_device(const at::Tensor& input);

// The whole numbers of a symmetrically quantized tensor, in a type that adds and multiplies them exactly.
at::Tensor whole_numbers(const at::Tensor& quantized);

// Whether muDNN takes the tensor: eight signed bits, one scale, and zero as the zero point.
bool symmetric(const at::Tensor& quantized);

// `sums` of products of whole numbers times `scale`, with bias and activation, in eight bits again.
at::Tensor requantize(
    const at::Tensor& sums,
    double scale,
    const std::optional<at::Tensor>& addend,
    Activation activation,
    double output_scale,
    at::MemoryFormat format);

} // namespace musasim
