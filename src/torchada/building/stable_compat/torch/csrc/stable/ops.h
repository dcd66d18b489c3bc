// PyTorch's own, and for PyTorch 2.9 those of 2.10 that libtorch 2.9 can answer.
#pragma once
#include_next <torch/csrc/stable/ops.h>

#if !__has_include(<torch/headeronly/version.h>)

#include <torch/csrc/stable/device.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/HeaderOnlyArrayRef.h>

#include <array>
#include <optional>
#include <vector>

namespace torch::stable {

namespace torchada_detail {

// `operator_name` of ATen, called with its arguments in order; all of them, defaults included, have to be given.
template <class... Arguments>
Tensor called(const char* operator_name, const char* overload, const Arguments&... arguments) {
  std::array<StableIValue, sizeof...(Arguments)> stack{::from(arguments)...};
  TORCH_ERROR_CODE_CHECK(aoti_torch_call_dispatcher(operator_name, overload, stack.data()));
  return ::to<Tensor>(stack[0]);
}

inline int32_t number(ScalarType type) {
  return ::to<int32_t>(::from(type));
}

} // namespace torchada_detail

inline Tensor clone(const Tensor& self) {
  return torchada_detail::called("aten::clone", "", self, std::nullopt);
}

inline Tensor copy_(Tensor& self, const Tensor& source, std::optional<bool> non_blocking = std::nullopt) {
  return torchada_detail::called("aten::copy_", "", self, source, non_blocking.value_or(false));
}

// The tensor itself where it is contiguous.
inline Tensor contiguous(const Tensor& self) {
  if (self.is_contiguous()) {
    return self;
  }
  return torchada_detail::called("aten::clone", "", self, std::optional<int32_t>(aoti_torch_memory_format_contiguous_format()));
}

inline Tensor flatten(const Tensor& self, int64_t start_dim = 0, int64_t end_dim = -1) {
  return torchada_detail::called("aten::flatten", "using_ints", self, start_dim, end_dim);
}

inline Tensor unsqueeze(const Tensor& self, int64_t dim) {
  return torchada_detail::called("aten::unsqueeze", "", self, dim);
}

inline Tensor squeeze(const Tensor& self, int64_t dim) {
  return torchada_detail::called("aten::squeeze", "dim", self, dim);
}

inline Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  return torchada_detail::called("aten::select", "int", self, dim, index);
}

inline Tensor matmul(const Tensor& self, const Tensor& other) {
  return torchada_detail::called("aten::matmul", "", self, other);
}

// A contiguous tensor with undefined values. PyTorch's own has more arguments, for layouts and pinned memory.
inline Tensor empty(
    torch::headeronly::IntHeaderOnlyArrayRef size,
    std::optional<ScalarType> dtype = std::nullopt,
    std::nullopt_t /*layout*/ = std::nullopt,
    std::optional<Device> device = std::nullopt) {
  std::vector<int64_t> strides(size.size(), 1);
  for (size_t dim = size.size(); dim > 1; --dim) {
    strides[dim - 2] = strides[dim - 1] * std::max<int64_t>(size[dim - 1], 1);
  }
  const Device place = device.value_or(Device(DeviceType::CPU));
  const int32_t type = static_cast<int32_t>(place.type()), element = torchada_detail::number(dtype.value_or(ScalarType::Float));
  const int64_t dims = static_cast<int64_t>(size.size());
  AtenTensorHandle handle = nullptr;
  TORCH_ERROR_CODE_CHECK(
      aoti_torch_empty_strided(dims, size.data(), strides.data(), element, type, place.index(), &handle));
  return Tensor(handle);
}

// A tensor over memory that stays the caller's.
inline Tensor from_blob(
    void* data,
    torch::headeronly::IntHeaderOnlyArrayRef sizes,
    torch::headeronly::IntHeaderOnlyArrayRef strides,
    Device device,
    ScalarType dtype,
    int64_t storage_offset = 0) {
  AtenTensorHandle handle = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_create_tensor_from_blob(
      data,
      static_cast<int64_t>(sizes.size()),
      sizes.data(),
      strides.data(),
      storage_offset,
      torchada_detail::number(dtype),
      static_cast<int32_t>(device.type()),
      device.index(),
      &handle));
  return Tensor(handle);
}

} // namespace torch::stable

#endif
