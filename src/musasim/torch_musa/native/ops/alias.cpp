#include "alias.h"

#include "../runtime/allocator.h"
#include "../runtime/unified_memory.h"

#include <ATen/ATen.h>
#include <ATen/quantized/QTensorImpl.h>
#include <ATen/quantized/Quantizer.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/TensorImpl.h>

#include <cstring>

namespace musasim {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

thread_local c10::DeviceIndex t_allocate_on = -1;

c10::DeleterFnPtr g_host_raw_deleter = nullptr;

void free_wherever_it_is(void* address) {
  if (!free_device_memory(address) && !free_unified_memory(address)) {
    g_host_raw_deleter(address);
  }
}

struct RoutingAllocator final : c10::Allocator {
  c10::Allocator* host = c10::GetCPUAllocator();

  c10::DataPtr allocate(size_t bytes) override {
    if (C10_UNLIKELY(t_allocate_on >= 0)) {
      return allocate_on(t_allocate_on, bytes);
    }
    auto* unified = unified_host_memory();
    return (unified == nullptr ? host : unified)->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return &free_wherever_it_is;
  }
  void copy_data(void* destination, const void* source, std::size_t count) const override {
    host->copy_data(destination, source, count);
  }
};

c10::Allocator* routing_allocator() {
  static auto* allocator = new RoutingAllocator();
  return allocator;
}

DispatchKeySet math_bits(const at::Tensor& tensor) {
  DispatchKeySet bits;
  if (tensor.is_conj()) {
    bits = bits.add(DispatchKey::Conjugate);
  }
  if (tensor.is_neg()) {
    bits = bits.add(DispatchKey::Negative);
  }
  return bits;
}

void copy_geometry(c10::TensorImpl* to, const c10::TensorImpl* from) {
  to->set_sizes_and_strides(from->sizes(), from->strides(), from->storage_offset());
}

at::Tensor tensor_over(const c10::Storage& storage, const at::Tensor& like, DispatchKey dense, DispatchKey quantized) {
  at::Tensor made;
  if (C10_UNLIKELY(like.is_quantized())) {
    made = at::detail::make_tensor<at::QTensorImpl>(
        c10::Storage(storage), DispatchKeySet(quantized), like.dtype(), at::get_qtensorimpl(like)->quantizer());
  } else {
    made = at::detail::make_tensor_base<c10::TensorImpl>(
        c10::Storage(storage), DispatchKeySet(dense) | math_bits(like), like.dtype());
  }
  copy_geometry(made.unsafeGetTensorImpl(), like.unsafeGetTensorImpl());
  return made;
}

void sync_impls(c10::StorageImpl* to, c10::StorageImpl* from, c10::Device device) {
  if (to->data() == from->data() && to->nbytes() == from->nbytes()) {
    return;
  }
  TORCH_CHECK(
      is_device_memory(from->data_ptr()) || from->data() == nullptr, "musasim: an operation replaced a tensor's storage");
  auto memory = from->set_data_ptr(c10::DataPtr(nullptr, c10::Device(c10::DeviceType::CPU)));
  void* data = memory.get();
  const auto deleter = memory.get_deleter();
  const size_t bytes = from->nbytes();
  to->set_data_ptr_noswap(c10::DataPtr(data, memory.release_context(), deleter, device));
  to->set_nbytes(bytes);
  // Further stand-ins over this storage must not look resized as well.
  from->set_data_ptr_noswap(c10::DataPtr(data, c10::Device(c10::DeviceType::CPU)));
}

} // namespace

c10::Storage device_storage(c10::DataPtr memory, size_t bytes, c10::Device device) {
  void* data = memory.get();
  const auto deleter = memory.get_deleter();
  c10::DataPtr on_device(data, memory.release_context(), deleter, device);
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes, std::move(on_device), device_allocator(), /*resizable=*/true));
}

AllocateOnDevice::AllocateOnDevice(c10::DeviceIndex device) : previous_(t_allocate_on) {
  t_allocate_on = device;
}

AllocateOnDevice::~AllocateOnDevice() {
  t_allocate_on = previous_;
}

void register_cpu_allocator() {
  g_host_raw_deleter = c10::GetCPUAllocator()->raw_deleter();
  c10::SetAllocator(c10::DeviceType::CPU, routing_allocator(), /*priority=*/1);
}

const c10::Storage& AliasTable::cpu_storage_for(const c10::Storage& storage) {
  for (const auto& pair : storages_) {
    if (pair.device.is_alias_of(storage)) {
      return pair.cpu;
    }
  }
  c10::DataPtr borrowed(storage.mutable_data(), c10::Device(c10::DeviceType::CPU));
  auto cpu = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(),
      storage.nbytes(),
      std::move(borrowed),
      routing_allocator(),
      storage.resizable());
  storages_.push_back({storage, c10::Storage(std::move(cpu))});
  return storages_.back().cpu;
}

// A result of the CPU kernel. Its memory comes from the device already, unless a library has allocated it otherwise.
const c10::Storage& AliasTable::device_storage_for(const c10::Storage& storage) {
  for (const auto& pair : storages_) {
    if (pair.cpu.is_alias_of(storage)) {
      return pair.device;
    }
  }
  const size_t bytes = storage.nbytes();
  c10::DataPtr memory;
  if (is_device_memory(storage.data_ptr()) || bytes == 0) {
    memory = storage.unsafeGetStorageImpl()->set_data_ptr(c10::DataPtr(nullptr, c10::Device(c10::DeviceType::CPU)));
  } else {
    memory = allocate_on(device_.index(), bytes);
    std::memcpy(memory.get(), storage.data(), bytes);
  }
  storages_.push_back({device_storage(std::move(memory), bytes, device_), storage});
  return storages_.back().device;
}

at::Tensor AliasTable::strided_to_cpu(const at::Tensor& tensor) {
  return tensor_over(cpu_storage_for(tensor.storage()), tensor, DispatchKey::CPU, DispatchKey::QuantizedCPU);
}

at::Tensor AliasTable::strided_to_device(const at::Tensor& result) {
  const auto& storage = device_storage_for(result.storage());
  return tensor_over(storage, result, DispatchKey::PrivateUse1, DispatchKey::QuantizedPrivateUse1);
}

at::Tensor AliasTable::sparse_to_cpu(const at::Tensor& t) {
  if (t.layout() == c10::kSparse) {
    return at::_sparse_coo_tensor_unsafe(
        to_cpu(t._indices()), to_cpu(t._values()), t.sizes(), t.options().device(at::kCPU), t.is_coalesced());
  }
  const bool by_row = t.layout() == c10::kSparseCsr || t.layout() == c10::kSparseBsr;
  return at::_sparse_compressed_tensor_unsafe(
      to_cpu(by_row ? t.crow_indices() : t.ccol_indices()),
      to_cpu(by_row ? t.col_indices() : t.row_indices()),
      to_cpu(t.values()),
      t.sizes(),
      t.options().device(at::kCPU));
}

at::Tensor AliasTable::sparse_to_device(const at::Tensor& t) {
  const c10::DeviceGuard guard(device_); // a sparse tensor is made on the current device of its type
  if (t.layout() == c10::kSparse) {
    return at::_sparse_coo_tensor_unsafe(
        to_device(t._indices()), to_device(t._values()), t.sizes(), t.options().device(device_), t.is_coalesced());
  }
  const bool by_row = t.layout() == c10::kSparseCsr || t.layout() == c10::kSparseBsr;
  return at::_sparse_compressed_tensor_unsafe(
      to_device(by_row ? t.crow_indices() : t.ccol_indices()),
      to_device(by_row ? t.col_indices() : t.row_indices()),
      to_device(t.values()),
      t.sizes(),
      t.options().device(device_));
}

at::Tensor AliasTable::to_cpu(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.device().type() != kMusa) {
    return tensor;
  }
  auto stand_in = C10_LIKELY(tensor.layout() == c10::kStrided) ? strided_to_cpu(tensor) : sparse_to_cpu(tensor);
  tensors_.push_back({tensor, stand_in});
  return stand_in;
}

at::Tensor AliasTable::to_device(const at::Tensor& result) {
  if (!result.defined() || result.device().type() != c10::DeviceType::CPU) {
    return result;
  }
  for (const auto& pair : tensors_) {
    if (pair.cpu.is_same(result)) {
      return pair.device;
    }
  }
  return C10_LIKELY(result.layout() == c10::kStrided) ? strided_to_device(result) : sparse_to_device(result);
}

void AliasTable::sync_metadata(const at::Tensor& tensor, const at::Tensor& stand_in) {
  auto* to = tensor.unsafeGetTensorImpl();
  const auto* from = stand_in.unsafeGetTensorImpl();
  if (to->sizes() != from->sizes() || to->strides() != from->strides() ||
      to->storage_offset() != from->storage_offset()) {
    copy_geometry(to, from);
  }
}

void AliasTable::sync_member(const at::Tensor& stand_in) {
  for (const auto& pair : storages_) {
    if (pair.cpu.is_alias_of(stand_in.storage())) {
      sync_impls(pair.device.unsafeGetStorageImpl(), pair.cpu.unsafeGetStorageImpl(), device_);
      return;
    }
  }
}

void AliasTable::sync_storage(const at::Tensor& tensor, const at::Tensor& stand_in) {
  sync_impls(tensor.storage().unsafeGetStorageImpl(), stand_in.storage().unsafeGetStorageImpl(), tensor.device());
}

} // namespace musasim
