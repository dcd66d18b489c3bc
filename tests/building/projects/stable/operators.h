#pragma once

#include <torch/csrc/stable/tensor.h>

#include <optional>
#include <tuple>

using torch::stable::Tensor;

void negate(Tensor& out, const Tensor& x);
Tensor scaled(const Tensor& x, double factor, std::optional<Tensor> added);
std::tuple<Tensor, int64_t> description(Tensor x, bool with_sizes);
bool handle_follows_streams(Tensor x);
