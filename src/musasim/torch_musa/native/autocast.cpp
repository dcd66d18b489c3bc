// Which operators autocast runs in lower precision: PyTorch's shared lists. It has its own compiler run, because the lists
// are long and every entry is a template.
#include "vendor_autocast.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/cross_entropy_loss_native.h>
#include <torch/library.h>

// The macros below name types that they expect to find in this namespace.
namespace at::autocast {
namespace {

Tensor refuse_binary_cross_entropy(
    const Tensor&, const Tensor&, const std::optional<Tensor>&, int64_t) {
  TORCH_CHECK(
      false,
      "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
      "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
      "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
      "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
      "safe to autocast.");
}

// torch_musa's PyTorch has a fused operator for labels of rows, which autocast does not know: the loss has the logits' type.
Tensor cross_entropy_loss(
    const Tensor& logits,
    const Tensor& target,
    const std::optional<Tensor>& weight,
    int64_t reduction,
    c10::SymInt ignore_index,
    double label_smoothing) {
  const bool is_fused = logits.dim() == 2 && target.dim() == 1 && label_smoothing == 0;
  if (!is_fused || !at::isReducedFloatingType(logits.scalar_type())) {
    return at::native::cross_entropy_loss_symint(logits, target, weight, reduction, ignore_index, label_smoothing);
  }
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::DispatchKey::AutocastPrivateUse1);
  return at::cross_entropy_loss_symint(logits.to(at::kFloat), target, weight, reduction, ignore_index, label_smoothing)
      .to(logits.scalar_type());
}

} // namespace

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define LOWER(...) MUSA_RULE(__VA_ARGS__, lower_precision_fp)
#define SINGLE(...) MUSA_RULE(__VA_ARGS__, fp32)
#define SINGLE_DTYPE(...) MUSA_RULE(__VA_ARGS__, fp32_set_opt_dtype)
#define PROMOTE(...) MUSA_RULE(__VA_ARGS__, promote)

  AT_FORALL_LOWER_PRECISION_FP(LOWER)
  AT_FORALL_FP32(SINGLE)
  AT_FORALL_FP32_SET_OPT_DTYPE(SINGLE_DTYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(MUSA_NORM)
  AT_FORALL_PROMOTE(PROMOTE)
  MUSA_RULE(convolution_overrideable, lower_precision_fp)

  m.impl("binary_cross_entropy", &refuse_binary_cross_entropy);
  m.impl("cross_entropy_loss", &cross_entropy_loss);

#undef LOWER
#undef SINGLE
#undef SINGLE_DTYPE
#undef PROMOTE
}

} // namespace at::autocast
