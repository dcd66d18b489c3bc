// The functions of the allocator and of storages that torch.compile's graph trees need.
//
// A captured graph here keeps its results, so the memory of one recording is never given to the next. So the pool has no
// state to restore, and all allocations in it are accounted for.
#include "parts.h"

#include "../runtime/allocator.h"

#include <ATen/ATen.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace musasim {
namespace py = pybind11;
namespace {

struct PoolState {};

c10::StorageImpl* storage_at(size_t address) {
  return reinterpret_cast<c10::StorageImpl*>(address); // NOLINT
}

bool same_addresses(
    const std::vector<std::optional<at::Tensor>>& tensors,
    const std::vector<std::optional<size_t>>& addresses,
    const std::vector<size_t>& indices) {
  for (const size_t index : indices) {
    const auto& tensor = tensors.at(index);
    const auto& address = addresses.at(index);
    if (tensor.has_value() != address.has_value()) {
      return false;
    }
    if (tensor.has_value() && reinterpret_cast<size_t>(tensor->const_data_ptr()) != *address) {
      return false;
    }
  }
  return true;
}

at::Tensor tensor_on(const py::dict& metadata, const c10::Storage& storage) {
  const auto type = reinterpret_cast<THPDtype*>(metadata["dtype"].ptr())->scalar_type;
  auto made = at::empty({0}, at::TensorOptions(storage.device()).dtype(type));
  made.set_(
      storage,
      metadata["storage_offset"].cast<int64_t>(),
      metadata["size"].cast<std::vector<int64_t>>(),
      metadata["stride"].cast<std::vector<int64_t>>());
  return made;
}

} // namespace

void add_graph_tree_functions(py::module_& module) {
  py::class_<PoolState>(module, "_musa_MUSAAllocator_AllocatorState");
  module.def("_musa_getCheckpointState", [](int, PoolId) { return PoolState(); });
  module.def("_musa_setCheckpointPoolState", [](int, const PoolState&, const std::vector<size_t>&, const std::vector<size_t>&) {});
  module.def("_musa_checkPoolLiveAllocations", [](int, PoolId, const py::set&) { return true; });
  module.def("_tensors_data_ptrs_at_indices_equal", &same_addresses);
  module.def("_construct_MUSA_Tensor_From_Storage_And_Metadata", [](const py::dict& metadata, const py::object& storage) {
    return tensor_on(metadata, torch::createStorage(storage.ptr()));
  });
  module.def("_has_Standard_Deleter", [](size_t storage) {
    return is_device_memory(storage_at(storage)->data_ptr());
  });
  // A graph's memory holds its outputs, and other memory is freed with its storage.
  module.def("_free_And_Remove_DeleterFn", [](size_t) {});
  module.def("_set_storage_access_error_msg", [](const at::Tensor& tensor, std::string message) {
    tensor.unsafeGetTensorImpl()->release_storage_and_set_meta_custom_data_ptr_error_msg_(std::move(message));
  });
  module.def("_set_storage_data_ptr_access_error_msg", [](size_t storage, std::string message) {
    storage_at(storage)->release_data_and_set_meta_custom_data_ptr_error_msg_(std::move(message));
  });
}

} // namespace musasim
