// torch_musa's attention takes masks that PyTorch's does not, and refuses some that it does.
#include <ATen/ATen.h>
#include <ATen/ops/scaled_dot_product_attention_native.h>
#include <torch/library.h>

#include <optional>

namespace musasim {
namespace {

using at::Tensor;

// A mask of two dimensions is for (queries, keys), or for (batch, keys) if that does not fit; it is not expanded.
std::optional<Tensor> as_pytorch_takes_it(
    const std::optional<Tensor>& mask, const Tensor& query, const Tensor& key) {
  if (!mask.has_value() || !mask->defined()) {
    return mask;
  }
  TORCH_CHECK(mask->dim() >= 2 && mask->dim() <= 4, "MUSA SPDA: attn_mask should be 2/3/4D Tensor.");
  if (mask->dim() != 2) {
    return mask;
  }
  const auto rows = mask->sym_size(0);
  const bool fits = mask->sym_size(1) == key.sym_size(-2);
  if (fits && rows == query.sym_size(-2)) {
    return mask;
  }
  const auto batch = query.dim() == 4 ? query.sym_size(0) : c10::SymInt(1);
  TORCH_CHECK(fits && rows == batch, "MUSA SPDA: shape of 2D attn_mask should be [L, S] or [N, S].");
  return mask->unsqueeze(1).unsqueeze(1);
}

Tensor attention(
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const std::optional<Tensor>& mask,
    double dropout_p,
    bool is_causal,
    std::optional<double> scale,
    bool enable_gqa) {
  const auto usual = as_pytorch_takes_it(mask, query, key);
  return at::native::scaled_dot_product_attention(query, key, value, usual, dropout_p, is_causal, scale, enable_gqa);
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("scaled_dot_product_attention", &attention);
}

// It is composed of operators that have gradients, so autograd calls it as well.
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, library) {
  library.impl("scaled_dot_product_attention", &attention);
}

} // namespace musasim
