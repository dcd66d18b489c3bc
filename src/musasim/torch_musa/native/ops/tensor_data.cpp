// `x.data = y` between the device and the host. The vendor's torch counts the device among those whose dense tensors may take each
// other's data, so Module.to keeps its parameters; PyPI's does not. MUSASIM_STOCK_TORCH=1 leaves this out.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "../../../musart/ground/environment.h"

namespace musasim {
namespace {

bool is_dense(c10::DispatchKeySet keys) {
  constexpr c10::DispatchKeySet backends({c10::BackendComponent::CPUBit, c10::BackendComponent::PrivateUse1Bit});
  return keys.has_any(c10::DispatchKeySet(c10::DispatchKey::Dense)) && keys.has_any(backends);
}

bool takes_data_of(const at::Tensor& self, const at::Tensor& from) {
  return self.unsafeGetTensorImpl()->has_compatible_shallow_copy_type(from.key_set()) ||
      (is_dense(self.key_set()) && is_dense(from.key_set()));
}

void register_unless_stock(torch::Library& library) {
  if (!musart::read_flag("MUSASIM_STOCK_TORCH")) {
    library.impl("_has_compatible_shallow_copy_type", &takes_data_of);
  }
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  register_unless_stock(library);
}

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, library) {
  register_unless_stock(library);
}

} // namespace musasim
