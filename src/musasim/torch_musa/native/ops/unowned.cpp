#include "unowned.h"

#include "../runtime/allocator.h"

#include <ATen/core/List.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace musasim {
namespace {

bool refers_to_device(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == kMusa && tensor.has_storage();
}

} // namespace

const c10::Storage& Unowned::storage_over(const c10::Storage& storage) {
  for (const auto& [owned, over] : storages_) {
    if (owned.is_alias_of(storage)) {
      return over;
    }
  }
  if (capture_ != nullptr) {
    capture_->note_place(storage.data());
  }
  const bool on_device = storage.device().type() == kMusa;
  c10::Storage over(
      c10::Storage::use_byte_size_t(),
      storage.nbytes(),
      refer_to(storage.data_ptr()),
      on_device ? device_allocator() : nullptr,
      /*resizable=*/on_device);
  return storages_.emplace_back(storage, std::move(over)).second;
}

at::Tensor Unowned::of(const at::Tensor& tensor) {
  // One without memory as well, where work waits: its end may be the end of an object of Python's, at any place and on any thread.
  const bool is_kept = !refers_to_device(tensor) || (capture_ != nullptr && tensor.storage().data() == nullptr);
  return is_kept ? tensor : over(tensor);
}

at::Tensor Unowned::over(const at::Tensor& tensor) {
  for (const auto& [owned, over] : tensors_) {
    if (owned.is_same(tensor)) {
      return over;
    }
  }
  // A subclass written in Python must not be asked for a copy of itself.
  const c10::impl::ExcludeDispatchKeyGuard below_python(c10::python_ks);
  auto over = at::Tensor(tensor.unsafeGetTensorImpl()->shallow_copy_and_detach(
      c10::VariableVersion(0), /*allow_tensor_metadata_change=*/true));
  over.unsafeGetTensorImpl()->set_storage_keep_dtype(storage_over(tensor.storage()));
  return tensors_.emplace_back(tensor, std::move(over)).second;
}

c10::IValue Unowned::of(const c10::IValue& value) {
  if (value.isTensor()) {
    return of(value.toTensor());
  }
  if (!value.isList()) {
    return value;
  }
  const auto list = value.toList();
  c10::impl::GenericList made(list.elementType());
  for (const c10::IValue& element : value.toListRef()) {
    if (!element.isTensor() && !element.isNone()) {
      return value; // a list of numbers
    }
    made.push_back(of(element));
  }
  return made;
}

torch::jit::Stack Unowned::of(const torch::jit::Stack& values) {
  torch::jit::Stack made;
  made.reserve(values.size());
  for (const auto& value : values) {
    made.push_back(of(value));
  }
  return made;
}

} // namespace musasim
