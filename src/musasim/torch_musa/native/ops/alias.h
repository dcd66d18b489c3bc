#pragma once

#include "musart/driver.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/util/SmallVector.h>

namespace musasim {

// During one operation, CPU tensors over the same memory stand in for device tensors. This table maps both ways.
//
// Storages map one to one, so that CPU kernels see which tensors overlap, and a result that shares a storage with an
// input becomes a view of it again.
class AliasTable {
 public:
  explicit AliasTable(c10::Device device) : device_(device) {}

  at::Tensor to_cpu(const at::Tensor& tensor);
  at::Tensor to_device(const at::Tensor& result);

  // Copies a new size, new strides or a new storage from the stand-in to its tensor, after the operation.
  static void sync_metadata(const at::Tensor& tensor, const at::Tensor& stand_in);
  void sync_storage(const at::Tensor& tensor, const at::Tensor& stand_in);
  // The same for a member of a sparse stand-in, which has a tensor of its own over the storage.
  void sync_member(const at::Tensor& stand_in);

 private:
  struct StoragePair {
    c10::Storage device;
    c10::Storage cpu;
  };
  struct TensorPair {
    at::Tensor device;
    at::Tensor cpu;
  };

  const c10::Storage& cpu_storage_for(const c10::Storage& storage);
  const c10::Storage& device_storage_for(const c10::Storage& storage);
  at::Tensor strided_to_cpu(const at::Tensor& tensor);
  at::Tensor strided_to_device(const at::Tensor& result);
  at::Tensor sparse_to_cpu(const at::Tensor& tensor);
  at::Tensor sparse_to_device(const at::Tensor& result);

  const musart::DeviceWork work_; // first, because it has to outlive the stand-ins
  c10::Device device_;
  c10::SmallVector<StoragePair, 4> storages_;
  c10::SmallVector<TensorPair, 4> tensors_;
};

// A storage of the device, in memory that was given out on the CPU's name.
c10::Storage device_storage(c10::DataPtr memory, size_t bytes, c10::Device device);

// While it lives, CPU allocations of this thread come from the device, so that the results of CPU kernels are device
// memory from the start. They are counted, cached and limited like any other.
class AllocateOnDevice {
 public:
  explicit AllocateOnDevice(c10::DeviceIndex device);
  ~AllocateOnDevice();
  AllocateOnDevice(const AllocateOnDevice&) = delete;
  AllocateOnDevice& operator=(const AllocateOnDevice&) = delete;

 private:
  c10::DeviceIndex previous_;
};

void register_cpu_allocator();

} // namespace musasim
