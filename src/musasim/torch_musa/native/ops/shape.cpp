// Kernels that make, view or resize tensors without touching their values.
#include "../runtime/allocator.h"
#include "../runtime/device.h"
#include "../runtime/stream.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/NativeFunctions.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/InferSize.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <algorithm>
#include <cstring>

namespace musasim {
namespace {

constexpr c10::DispatchKeySet kDense(c10::DispatchKey::PrivateUse1);
constexpr c10::DispatchKeySet kZero(c10::DispatchKey::ZeroTensor);

void refuse_layout_and_pinning(std::optional<c10::Layout> layout, std::optional<bool> pin_memory) {
  TORCH_CHECK(layout.value_or(c10::kStrided) == c10::kStrided, "Only strided layout is supported for empty tensors");
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
}

c10::Device wanted_device(std::optional<c10::Device> device) {
  return c10::Device(kMusa, resolve_device(device.has_value() ? device->index() : -1));
}

at::Tensor empty(
    at::IntArrayRef size,
    std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout> layout,
    std::optional<c10::Device> device,
    std::optional<bool> pin_memory,
    std::optional<c10::MemoryFormat> memory_format) {
  refuse_layout_and_pinning(layout, pin_memory);
  const c10::DeviceGuard guard(wanted_device(device));
  return at::detail::empty_generic(
      size, device_allocator(), kDense, c10::dtype_or_default(dtype), memory_format);
}

at::Tensor empty_strided(
    at::IntArrayRef size,
    at::IntArrayRef stride,
    std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout> layout,
    std::optional<c10::Device> device,
    std::optional<bool> pin_memory) {
  refuse_layout_and_pinning(layout, pin_memory);
  const c10::DeviceGuard guard(wanted_device(device));
  return at::detail::empty_strided_generic(size, stride, device_allocator(), kDense, c10::dtype_or_default(dtype));
}

// A sparse tensor is made on the current device of its type.
at::Tensor sparse_with_dims_and_tensors(
    int64_t sparse_dim,
    int64_t dense_dim,
    c10::SymIntArrayRef size,
    const at::Tensor& indices,
    const at::Tensor& values,
    std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout> layout,
    std::optional<c10::Device> device,
    std::optional<bool> pin_memory,
    std::optional<bool> is_coalesced) {
  const c10::DeviceGuard guard(wanted_device(device));
  return at::native::new_with_dims_and_tensor_sparse_symint(
      sparse_dim, dense_dim, size, indices, values, dtype, layout, device, pin_memory, is_coalesced);
}

// A tensor of zeros without memory, which autograd makes for gradients that are zero by definition.
at::Tensor efficient_zeros(
    at::IntArrayRef size,
    std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout> layout,
    std::optional<c10::Device> device,
    std::optional<bool> pin_memory) {
  refuse_layout_and_pinning(layout, pin_memory);
  at::native::ZeroTensorAllocator nothing(wanted_device(device));
  return at::detail::empty_generic(size, &nothing, kDense | kZero, c10::dtype_or_default(dtype), std::nullopt);
}

void grow_storage(c10::TensorImpl* tensor, size_t bytes) {
  auto* storage = tensor->unsafe_storage().unsafeGetStorageImpl();
  if (bytes <= storage->nbytes()) {
    return;
  }
  TORCH_CHECK(storage->resizable(), "Trying to resize storage that is not resizable");
  const c10::DeviceGuard guard(tensor->device());
  auto fresh = device_allocator()->allocate(bytes);
  if (storage->nbytes() > 0) {
    musart::postponed::finish_before(stream_state(current_stream(tensor->device().index())));
    const musart::DeviceWork work;
    std::memcpy(fresh.get(), storage->data(), storage->nbytes());
  }
  storage->set_data_ptr_noswap(std::move(fresh));
  storage->set_nbytes(bytes);
}

const at::Tensor& resize(
    const at::Tensor& self, at::IntArrayRef size, std::optional<c10::MemoryFormat> memory_format) {
  refuse_after_fork();
  auto* impl = self.unsafeGetTensorImpl();
  if (impl->sizes() != size) {
    impl->set_sizes_contiguous(size);
    const auto bytes =
        at::detail::computeStorageNbytesContiguous(size, impl->itemsize(), static_cast<size_t>(impl->storage_offset()));
    if (impl->numel() > 0) {
      grow_storage(impl, bytes);
    }
  }
  if (memory_format.has_value()) {
    TORCH_CHECK(*memory_format != c10::MemoryFormat::Preserve, "Unsupported memory format", *memory_format);
    impl->empty_tensor_restride(*memory_format);
  }
  return self;
}

void check_storage(const at::Tensor& self, const c10::Storage& storage) {
  TORCH_CHECK(
      storage.device() == self.device() || storage.nbytes() == 0,
      "Attempted to set the storage of a tensor on device \"",
      self.device(),
      "\" to a storage on different device \"",
      storage.device(),
      "\".  This is no longer allowed; the devices must match.");
}

at::Tensor& set_storage_and_view(
    at::Tensor& self, c10::Storage storage, int64_t offset, at::IntArrayRef size, at::IntArrayRef stride) {
  check_storage(self, storage);
  TORCH_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(storage));
  impl->set_storage_offset(offset);
  if (stride.size() != size.size()) {
    TORCH_CHECK(stride.empty(), "mismatch in length of strides and shape");
    impl->set_sizes_contiguous(size);
  } else {
    impl->set_sizes_and_strides(size, stride);
  }
  const auto bytes = at::detail::computeStorageNbytes(
      impl->sizes(), impl->strides(), impl->itemsize(), static_cast<size_t>(offset));
  if (impl->numel() > 0) {
    grow_storage(impl, bytes);
  }
  return self;
}

at::Tensor& set_storage(at::Tensor& self, c10::Storage storage) {
  const auto elements = static_cast<int64_t>(storage.nbytes() / self.dtype().itemsize());
  return set_storage_and_view(self, std::move(storage), 0, {elements}, {});
}

at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  if (self.unsafeGetTensorImpl() != source.unsafeGetTensorImpl()) {
    set_storage_and_view(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
  }
  return self;
}

at::Tensor& set_nothing(at::Tensor& self) {
  const c10::DeviceGuard guard(self.device());
  c10::Storage fresh(c10::Storage::use_byte_size_t(), 0, device_allocator(), true);
  return set_storage_and_view(self, std::move(fresh), 0, {0}, {});
}

void record_stream_of(at::Tensor& self, c10::Stream stream) {
  record_stream(self.storage().data_ptr(), stream);
}

bool is_set_to(const at::Tensor& self, const at::Tensor& source) {
  return self.storage().unsafeGetStorageImpl() == source.storage().unsafeGetStorageImpl() &&
      self.storage_offset() == source.storage_offset() && self.sizes() == source.sizes() &&
      self.strides() == source.strides();
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", &empty);
  library.impl("empty_strided", &empty_strided);
  library.impl("_efficientzerotensor", &efficient_zeros);
  library.impl("resize_", &resize);
  library.impl("set_.source_Storage", &set_storage);
  library.impl("set_.source_Storage_storage_offset", &set_storage_and_view);
  library.impl("set_.source_Tensor", &set_tensor);
  library.impl("set_", &set_nothing);
  library.impl("is_set_to", &is_set_to);
  library.impl("record_stream", &record_stream_of);
  library.impl("as_strided", &at::native::as_strided_tensorimpl);
  library.impl("view", &at::native::view);
  library.impl("_reshape_alias", &at::native::_reshape_alias);
  library.impl("alias", &at::native::alias);
  library.impl("unfold", &at::native::unfold);
  library.impl("view_as_real", &at::native::view_as_real);
  library.impl("view_as_complex", &at::native::view_as_complex);
}

// Views of quantized tensors share the quantizer, which these kernels carry along.
TORCH_LIBRARY_IMPL(aten, QuantizedPrivateUse1, library) {
  library.impl("as_strided", &at::native::as_strided_qtensorimpl);
  library.impl("view", &at::native::view);
  library.impl("_reshape_alias", &at::native::_reshape_alias);
  library.impl("unfold", &at::native::unfold);
  library.impl("record_stream", &record_stream_of);
}

// What torch_musa registers to make sparse tensors of their members, and to read these. Further operators are in fallback.cpp.
TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, library) {
  library.impl("_sparse_coo_tensor_with_dims_and_tensors", &sparse_with_dims_and_tensors);
  library.impl("sparse_dim", &at::native::sparse_dim_sparse);
  library.impl("_nnz", &at::native::_nnz_sparse);
  library.impl("_indices", &at::native::_indices_sparse);
  library.impl("_values", &at::native::_values_sparse);
  library.impl("is_coalesced", &at::native::is_coalesced_sparse);
  library.impl("_coalesced_", &at::native::_coalesced_sparse_);
  library.impl("indices", &at::native::indices_sparse);
  library.impl("values", &at::native::values_sparse);
}
TORCH_LIBRARY_IMPL(aten, SparseCsrPrivateUse1, library) {
  library.impl("crow_indices", &at::native::crow_indices_sparse_csr);
  library.impl("col_indices", &at::native::col_indices_sparse_csr);
  library.impl("values", &at::native::values_sparse_csr);
  library.impl("_nnz", &at::native::_nnz_sparse_csr);
}

} // namespace musasim
