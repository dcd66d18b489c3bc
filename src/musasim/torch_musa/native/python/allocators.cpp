#include "../runtime/pluggable.h"
#include "../runtime/unified_memory.h"
#include "parts.h"

#include <cstdint>
#include <memory>

namespace musasim {
namespace py = pybind11;
namespace {

std::shared_ptr<PluggableAllocator> custom_allocator(uintptr_t alloc, uintptr_t free) {
  auto made = std::make_shared<PluggableAllocator>();
  made->alloc = reinterpret_cast<PluggableAllocator::Alloc>(alloc);
  made->free = reinterpret_cast<PluggableAllocator::Free>(free);
  return made;
}

std::shared_ptr<PluggableAllocator> allocator_in_use() {
  const auto plugged = current_allocator();
  return std::make_shared<PluggableAllocator>(plugged == nullptr ? PluggableAllocator{} : *plugged);
}

} // namespace

void add_allocators(py::module_& module) {
  py::class_<PluggableAllocator, std::shared_ptr<PluggableAllocator>>(module, "_musa_MUSAAllocator");
  py::class_<PoolAllocator, std::shared_ptr<PoolAllocator>>(module, "_musa_PoolAllocator");
  module.def("_musa_customAllocator", &custom_allocator, py::arg("alloc_fn"), py::arg("free_fn"));
  module.def("_musa_getAllocator", &allocator_in_use);
  module.def("_get_musa_unified_allocator", [] { return std::make_shared<PluggableAllocator>(unified_allocator()); });
  module.def("_musa_changeCurrentAllocator", [](const std::shared_ptr<PluggableAllocator>& allocator) {
    change_current_allocator(allocator);
  });
  module.def("_musa_getAllocatorBackend", [] { return current_allocator() == nullptr ? "native" : "pluggable"; });
}

} // namespace musasim
