// The functions of the allocator and of storages that torch.compile's graph trees need: a graph's results lie in a pool, whose
// blocks are put back into an earlier state where another path through the graphs is recorded.
#include "parts.h"

#include "../runtime/allocator.h"
#include "../runtime/device_cache.h"

#include <ATen/ATen.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace musasim {
namespace py = pybind11;
namespace {

c10::StorageImpl* storage_at(size_t address) {
  return reinterpret_cast<c10::StorageImpl*>(address); // NOLINT
}

// The inputs of a graph of dynamic shapes are tensors and numbers; only tensors are asked for.
bool same_addresses(const py::list& tensors, const py::list& addresses, const py::list& indices) {
  return std::all_of(indices.begin(), indices.end(), [&](const py::handle& each) {
    const auto index = each.cast<size_t>();
    return reinterpret_cast<size_t>(tensors[index].cast<at::Tensor>().data_ptr()) == addresses[index].cast<size_t>();
  });
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

std::set<c10::StorageImpl*> storages_at(const std::vector<size_t>& addresses) {
  std::set<c10::StorageImpl*> found;
  for (const size_t address : addresses) {
    found.insert(storage_at(address));
  }
  return found;
}

// What a storage's tensor had was freed with its pool, so it is not given back once more when the tensor dies.
void disown_all(const std::set<c10::StorageImpl*>& stale, const std::set<const void*>& freed) {
  for (auto* storage : stale) {
    TORCH_CHECK(freed.count(storage->data()) != 0, "a stale storage lies outside of what its pool has freed");
    TORCH_CHECK(
        disown(storage->mutable_data_ptr()), "Unexpected deleter function on storage, could not swap function");
  }
}

void restore(int device, const PoolState& state, const std::vector<size_t>& stale, const std::vector<size_t>& owners) {
  const auto stale_storages = storages_at(stale);
  auto change = restore_pool(static_cast<c10::DeviceIndex>(device), state);
  const std::set<const void*> freed(change.freed.begin(), change.freed.end());
  std::map<const void*, c10::DataPtr> allocated;
  for (auto& memory : change.allocated) {
    const void* address = memory.get();
    allocated[address] = std::move(memory);
  }
  const auto gone = std::count_if(
      freed.begin(), freed.end(), [&](const void* address) { return allocated.count(address) == 0; });
  TORCH_CHECK(
      stale_storages.size() >= static_cast<size_t>(gone),
      "Any stale tensors which are being manually freed must be passed to set checkpoint");
  disown_all(stale_storages, freed);
  for (auto* storage : storages_at(owners)) {
    const auto found = allocated.find(storage->data());
    if (found != allocated.end()) {
      TORCH_CHECK(storage->data_ptr().get_context() == nullptr, "Not expecting deleter function");
      storage->set_data_ptr_noswap(std::move(found->second));
    }
  }
  for (auto& [address, memory] : allocated) {
    memory.release_context(); // a tensor has it already, or it is given back by its address
  }
}

} // namespace

void add_graph_tree_functions(py::module_& module) {
  py::class_<PoolState, std::shared_ptr<PoolState>>(module, "_musa_MUSAAllocator_AllocatorState");
  module.def("_musa_getCheckpointState", [](int device, PoolId pool) {
    return std::const_pointer_cast<PoolState>(pool_state(static_cast<c10::DeviceIndex>(device), pool));
  });
  module.def(
      "_musa_setCheckpointPoolState",
      [](int device,
         const std::shared_ptr<PoolState>& state,
         const std::vector<size_t>& stale,
         const std::vector<size_t>& owners) { restore(device, *state, stale, owners); });
  module.def("_musa_checkPoolLiveAllocations", [](int device, PoolId pool, const std::set<size_t>& expected) {
    std::set<size_t> live;
    for (const void* address : live_in_pool(static_cast<c10::DeviceIndex>(device), pool)) {
      live.insert(reinterpret_cast<size_t>(address));
    }
    return live == expected;
  });
  module.def("_tensors_data_ptrs_at_indices_equal", &same_addresses);
  module.def("_construct_MUSA_Tensor_From_Storage_And_Metadata", [](const py::dict& metadata, const py::object& storage) {
    return tensor_on(metadata, torch::createStorage(storage.ptr()));
  });
  module.def("_has_Standard_Deleter", [](size_t storage) {
    return is_owned(storage_at(storage)->data_ptr());
  });
  module.def("_free_And_Remove_DeleterFn", [](size_t storage) {
    auto& memory = storage_at(storage)->mutable_data_ptr();
    void* address = memory.get();
    TORCH_CHECK(disown(memory), "Expected standard deleter");
    free_device_memory(address);
  });
  module.def("_set_storage_access_error_msg", [](const at::Tensor& tensor, std::string message) {
    tensor.unsafeGetTensorImpl()->release_storage_and_set_meta_custom_data_ptr_error_msg_(std::move(message));
  });
  module.def("_set_storage_data_ptr_access_error_msg", [](size_t storage, std::string message) {
    storage_at(storage)->release_data_and_set_meta_custom_data_ptr_error_msg_(std::move(message));
  });
}

} // namespace musasim
