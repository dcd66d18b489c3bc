// torch::stable::Tensor, with the accessors of PyTorch 2.10, which asks is_privateuseone() where CUDA's asks is_cuda().
#pragma once

#if __has_include(<torch/headeronly/version.h>)

// Everything that PyTorch's header includes comes first, because only the header itself is to be read with the other names.
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/c/shim.h>
#include <torch/csrc/stable/device_struct.h>
#include <torch/csrc/stable/macros.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/macros/Macros.h>
#include <torch/headeronly/util/Exception.h>
#include <torch/headeronly/util/HeaderOnlyArrayRef.h>
#include <torch/headeronly/util/shim_utils.h>
#if __has_include(<torch/headeronly/core/Layout.h>)
#include <torch/headeronly/core/Layout.h>
#endif
#include <climits>
#include <memory>

#define is_cuda is_privateuseone
#define aoti_torch_device_type_cuda aoti_torch_device_type_privateuse1
#include_next <torch/csrc/stable/tensor_struct.h>
#undef aoti_torch_device_type_cuda
#undef is_cuda

#else

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/device.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>
#include <torch/headeronly/util/HeaderOnlyArrayRef.h>
#include <torch/headeronly/util/shim_utils.h>

#include <cstdint>
#include <limits>
#include <memory>

namespace torch::stable {

using accelerator::DeviceIndex;
using torch::headeronly::IntHeaderOnlyArrayRef;
using torch::headeronly::ScalarType;

// One tensor of libtorch, shared by all copies of this object. Every member asks libtorch by a C function.
class Tensor {
 public:
  Tensor() : Tensor(asked<AtenTensorHandle>(aoti_torch_new_uninitialized_tensor)) {}

  // The object owns `handle` from here on.
  explicit Tensor(AtenTensorHandle handle) : handle_(handle, release) {}

  // Borrowed: the object still owns it.
  AtenTensorHandle get() const {
    return handle_.get();
  }

  bool defined() const {
    return asked<bool>(aoti_torch_is_defined, get());
  }
  int64_t dim() const {
    return asked<int64_t>(aoti_torch_get_dim, get());
  }
  int64_t numel() const {
    return asked<int64_t>(aoti_torch_get_numel, get());
  }
  int64_t size(int64_t dim) const {
    return asked<int64_t>(aoti_torch_get_size, get(), dim);
  }
  int64_t stride(int64_t dim) const {
    return asked<int64_t>(aoti_torch_get_stride, get(), dim);
  }
  // Both lists belong to the tensor and end with it.
  IntHeaderOnlyArrayRef sizes() const {
    return {asked<int64_t*>(aoti_torch_get_sizes, get()), static_cast<size_t>(dim())};
  }
  IntHeaderOnlyArrayRef strides() const {
    return {asked<int64_t*>(aoti_torch_get_strides, get()), static_cast<size_t>(dim())};
  }
  bool is_contiguous() const {
    return asked<bool>(aoti_torch_is_contiguous, get());
  }
  // In elements.
  int64_t storage_offset() const {
    return asked<int64_t>(aoti_torch_get_storage_offset, get());
  }
  // In bytes.
  size_t element_size() const {
    return aoti_torch_dtype_element_size(asked<int32_t>(aoti_torch_get_dtype, get()));
  }
  ScalarType scalar_type() const;

  void* data_ptr() const {
    return asked<void*>(aoti_torch_get_data_ptr, get());
  }
  void* mutable_data_ptr() const {
    return data_ptr();
  }
  const void* const_data_ptr() const {
    return data_ptr();
  }
  // The type is the caller's word: unlike at::Tensor's, these do not compare it with the tensor's.
  template <class T>
  T* mutable_data_ptr() const {
    return static_cast<T*>(data_ptr());
  }
  template <class T>
  const T* const_data_ptr() const {
    return static_cast<const T*>(data_ptr());
  }

  DeviceIndex get_device_index() const {
    return asked<int32_t>(aoti_torch_get_device_index, get());
  }
  int8_t get_device() const {
    const DeviceIndex index = get_device_index();
    constexpr DeviceIndex least = std::numeric_limits<int8_t>::min(), most = std::numeric_limits<int8_t>::max();
    STD_TORCH_CHECK(least <= index && index <= most, "the device's index ", index, " is no int8_t; get_device_index() has it");
    return static_cast<int8_t>(index);
  }
  Device device() const {
    return {static_cast<DeviceType>(type()), get_device_index()};
  }
  bool is_privateuseone() const {
    return type() == aoti_torch_device_type_privateuse1();
  }
  bool is_cpu() const {
    return type() == aoti_torch_device_type_cpu();
  }

 private:
  template <class T, class Function, class... Arguments>
  static T asked(Function function, Arguments... arguments) {
    T value;
    TORCH_ERROR_CODE_CHECK(function(arguments..., &value));
    return value;
  }

  static void release(AtenTensorHandle handle) {
    TORCH_ERROR_CODE_CHECK(aoti_torch_delete_tensor_object(handle));
  }

  int32_t type() const {
    return asked<int32_t>(aoti_torch_get_device_type, get());
  }

  std::shared_ptr<AtenTensorOpaque> handle_;
};

} // namespace torch::stable

#endif
