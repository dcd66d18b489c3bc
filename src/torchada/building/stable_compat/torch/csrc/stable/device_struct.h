// torch::stable::Device, which asks is_privateuseone() where CUDA's asks is_cuda().
#pragma once

#if __has_include_next(<torch/csrc/stable/device_struct.h>)

// Everything that PyTorch's header includes comes first, because only the header itself is to be read with the other names.
#include <torch/csrc/stable/accelerator.h>
#include <torch/headeronly/core/DeviceType.h>
#include <torch/headeronly/macros/Macros.h>
#include <torch/headeronly/util/Exception.h>
#include <torch/headeronly/util/shim_utils.h>
#if __has_include(<torch/csrc/stable/version.h>)
#include <torch/csrc/stable/c/shim.h>
#include <torch/csrc/stable/version.h>
#endif
#include <string>

#define is_cuda is_privateuseone
#define CUDA PrivateUse1
#include_next <torch/csrc/stable/device_struct.h>
#undef CUDA
#undef is_cuda

#else

#include <torch/csrc/stable/accelerator.h>
#include <torch/headeronly/core/DeviceType.h>
#include <torch/headeronly/util/Exception.h>

namespace torch::stable {

using accelerator::DeviceIndex;
using torch::headeronly::DeviceType;

class Device {
 public:
  // NOLINTNEXTLINE: implicit, as in PyTorch
  Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {
    STD_TORCH_CHECK(index >= -1, "a device's index is -1 or more, and not ", index);
    STD_TORCH_CHECK(type != DeviceType::CPU || index <= 0, "the CPU has the index 0 or -1, and not ", index);
  }

  DeviceType type() const noexcept {
    return type_;
  }
  DeviceIndex index() const noexcept {
    return index_;
  }
  void set_index(DeviceIndex index) {
    index_ = index;
  }
  bool has_index() const noexcept {
    return index_ != -1;
  }
  bool is_privateuseone() const noexcept {
    return type_ == DeviceType::PrivateUse1;
  }
  bool is_cpu() const noexcept {
    return type_ == DeviceType::CPU;
  }
  bool operator==(const Device& other) const noexcept {
    return type_ == other.type_ && index_ == other.index_;
  }
  bool operator!=(const Device& other) const noexcept {
    return !(*this == other);
  }

 private:
  DeviceType type_;
  DeviceIndex index_;
};

} // namespace torch::stable

#endif
