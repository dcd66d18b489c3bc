#include "parts.h"

#include "../runtime/allocator.h"
#include "../runtime/allocator_settings.h"
#include "../runtime/device.h"
#include "../runtime/history.h"
#include "../runtime/host_allocator.h"
#include "../runtime/pluggable.h"
#include "../runtime/release.h"
#include "../runtime/unified_memory.h"

#include <pybind11/stl.h>

#include <mutex>
#include <string>
#include <unordered_map>

namespace musasim {
namespace py = pybind11;
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;

py::dict metrics(const Stat& stat) {
  py::dict made;
  made["current"] = stat.current;
  made["peak"] = stat.peak;
  made["allocated"] = stat.allocated;
  made["freed"] = stat.freed;
  return made;
}

py::dict pools(const StatArray& stats) {
  py::dict made;
  made["all"] = metrics(stats[0]);
  made["small_pool"] = metrics(stats[1]);
  made["large_pool"] = metrics(stats[2]);
  return made;
}

py::dict stats_of(int device) {
  const auto stats = memory_stats(static_cast<c10::DeviceIndex>(device));
  py::dict made;
  made["num_alloc_retries"] = stats.num_alloc_retries;
  made["num_ooms"] = stats.num_ooms;
  made["max_split_size"] = static_cast<int64_t>(max_split_size()); // -1: no limit
  made["num_sync_all_streams"] = stats.num_sync_all_streams;
  made["num_device_alloc"] = stats.num_device_alloc;
  made["num_device_free"] = stats.num_device_free;
  made["allocation"] = pools(stats.allocation);
  made["segment"] = pools(stats.segment);
  made["active"] = pools(stats.active);
  made["inactive_split"] = pools(stats.inactive_split);
  made["allocated_bytes"] = pools(stats.allocated_bytes);
  made["reserved_bytes"] = pools(stats.reserved_bytes);
  made["active_bytes"] = pools(stats.active_bytes);
  made["inactive_split_bytes"] = pools(stats.inactive_split_bytes);
  made["requested_bytes"] = pools(stats.requested_bytes);
  made["oversize_allocations"] = metrics(stats.oversize_allocations);
  made["oversize_segments"] = metrics(stats.oversize_segments);
  return made;
}

py::dict metrics(const CallTimes& times) {
  py::dict made;
  made["total"] = times.total;
  made["max"] = times.longest;
  made["min"] = times.shortest;
  made["count"] = times.count;
  made["avg"] = times.count == 0 ? 0 : times.total / times.count;
  return made;
}

// Each release names the figures as its torch does.
py::dict host_stats() {
  const auto stats = pinned_stats();
  const bool renamed = since(Release::v2_11_0);
  py::dict made;
  made["num_host_alloc"] = stats.taking.count;
  made["num_host_free"] = stats.releasing.count;
  made[renamed ? "active_requests" : "allocation"] = metrics(stats.used_blocks);
  made[renamed ? "active_bytes" : "allocated_bytes"] = metrics(stats.used_bytes);
  made[renamed ? "allocations" : "segment"] = metrics(stats.blocks);
  made[renamed ? "allocated_bytes" : "reserved_bytes"] = metrics(stats.bytes);
  made["host_alloc_time"] = metrics(stats.taking);
  made["host_free_time"] = metrics(stats.releasing);
  return made;
}

uintptr_t raw_alloc(int64_t bytes, uintptr_t stream) {
  TORCH_CHECK(bytes >= 0, "invalid size of memory: ", bytes);
  const auto device = current_device();
  const auto on = stream == 0 ? default_stream(device) : external_stream(device, reinterpret_cast<void*>(stream)); // NOLINT
  return reinterpret_cast<uintptr_t>(allocate_raw(static_cast<size_t>(bytes), on));
}

// Frees memory by its address only. torch_musa 2.7.1 has this function, and not its counterpart raw_alloc: the addresses are those
// that a return to an earlier state of a pool has left without a tensor.
void raw_delete(uintptr_t address) {
  TORCH_CHECK(free_device_memory(reinterpret_cast<void*>(address)), "invalid device pointer: ", address); // NOLINT
}

void attach_observer(py::function observer) {
  // Leaked, because it is called as long as the process allocates.
  auto* kept = new py::function(std::move(observer));
  attach_oom_observer([kept](c10::DeviceIndex device, size_t requested, size_t total, size_t free) {
    const py::gil_scoped_acquire acquire;
    (*kept)(int{device}, requested, total, free);
  });
}

AllocatorRef functions_of(const py::object& allocator) {
  if (py::isinstance<PoolAllocator>(allocator)) {
    return std::make_shared<PluggableAllocator>(allocator.cast<std::shared_ptr<PoolAllocator>>()->functions);
  }
  return allocator.cast<std::shared_ptr<PluggableAllocator>>();
}

// torch_musa's constructor takes a pointer to an allocator or None, and so raises TypeError for anything else.
const py::object& checked(const py::object& allocator) {
  if (!allocator.is_none() && !py::isinstance<PluggableAllocator>(allocator) && !py::isinstance<PoolAllocator>(allocator)) {
    throw py::type_error(
        "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
        "    1. torch_musa._MUSAC._MemPool(arg0: torch_musa._MUSAC._musa_MUSAAllocator, arg1: bool)\n\nInvoked with: " +
        py::repr(allocator).cast<std::string>());
  }
  return allocator;
}

class MemPool {
 public:
  MemPool(const py::object& allocator, bool user_created, bool use_on_oom, bool no_split)
      : allocator_(checked(allocator)), id_(new_pool_id(user_created)), device_(current_device()) {
    if (since(Release::v2_9_1)) { // 2.7.1's is only an id
      retain_pool(device_, id_);
      set_pool_options(device_, id_, {use_on_oom, no_split});
    }
    if (!allocator.is_none()) {
      set_pool_allocator(id_, functions_of(allocator));
    }
  }
  ~MemPool() {
    if (since(Release::v2_9_1)) {
      release_pool(device_, id_);
    }
  }
  MemPool(const MemPool&) = delete;
  MemPool& operator=(const MemPool&) = delete;

  PoolId id() const {
    return id_;
  }
  py::object allocator() const {
    return allocator_;
  }
  int use_count() const {
    return pool_use_count(device_, id_);
  }

 private:
  py::object allocator_;
  PoolId id_;
  c10::DeviceIndex device_;
};

// Remembers which pool is active. beginAllocateToPool is what sends allocations to it.
class MemPoolContext {
 public:
  explicit MemPoolContext(py::object pool) : previous_(active()) {
    active() = std::move(pool);
  }
  ~MemPoolContext() {
    active() = previous_;
  }
  static py::object& active() {
    static auto* pool = new py::object(py::none());
    return *pool;
  }

 private:
  py::object previous_;
};

void add_pools(py::module_& module) {
  py::class_<MemPool>(module, "_MemPool")
      .def(
          py::init<py::object, bool, bool, bool>(),
          py::arg("allocator") = py::none(),
          py::arg("is_user_created") = true,
          py::arg("use_on_oom") = false,
          py::arg("no_split") = false)
      .def("use_count", &MemPool::use_count)
      .def_property_readonly("id", &MemPool::id)
      .def_property_readonly("allocator", &MemPool::allocator);
  py::class_<MemPoolContext>(module, "_MemPoolContext")
      .def(py::init<py::object>())
      .def_static("activate_pool", [] { return MemPoolContext::active(); });
  module.def("_musa_beginAllocateToPool", [](int device, PoolId pool) {
    begin_allocate_to_pool(static_cast<c10::DeviceIndex>(device), pool, /*every_stream=*/true);
  });
  module.def("_musa_beginAllocateCurrentStreamToPool", [](int device, PoolId pool) {
    TORCH_CHECK(
        current_stream(static_cast<c10::DeviceIndex>(device)).id() != 0, "Expected stream capture to be under way");
    begin_allocate_to_pool(static_cast<c10::DeviceIndex>(device), pool, /*every_stream=*/false);
  });
  module.def("_musa_beginAllocateCurrentThreadToPool", [](int device, PoolId pool) {
    begin_allocate_thread_to_pool(static_cast<c10::DeviceIndex>(device), pool);
  });
  for (const char* name : {"_musa_endAllocateCurrentStreamToPool", "_musa_endAllocateToPool"}) {
    module.def(name, [](int device, PoolId pool) { end_allocate_to_pool(static_cast<c10::DeviceIndex>(device), pool); });
  }
  module.def("_musa_releasePool", [](int device, PoolId pool) {
    release_pool(static_cast<c10::DeviceIndex>(device), pool);
  });
}

} // namespace

void add_memory_functions(py::module_& module) {
  add_allocators(module);
  add_pools(module);
  add_snapshots(module);
  module.def("_musa_memoryStats", &stats_of);
  module.def("_musa_resetPeakMemoryStats", [](int device) { reset_peak_stats(static_cast<c10::DeviceIndex>(device)); });
  module.def("_musa_resetAccumulatedMemoryStats", [](int device) {
    reset_accumulated_stats(static_cast<c10::DeviceIndex>(device));
  });
  module.def("_musa_emptyCache", &empty_cache, py::call_guard<py::gil_scoped_release>());
  module.def("_musa_setMemoryFraction", [](double fraction, int device) {
    set_memory_fraction(static_cast<c10::DeviceIndex>(device), fraction);
  });
  module.def("_musa_getMemoryFraction", [](int device) { return memory_fraction(static_cast<c10::DeviceIndex>(device)); });
  module.def("_musa_hostMemoryStats", &host_stats);
  module.def("_musa_resetAccumulatedHostMemoryStats", &reset_accumulated_pinned_stats);
  module.def("_musa_resetPeakHostMemoryStats", &reset_peak_pinned_stats);
  module.def("_host_emptyCache", &empty_pinned_cache, py::call_guard<py::gil_scoped_release>());
  module.def("_musa_setMemoryMetadata", &set_memory_metadata);
  module.def("_musa_getMemoryMetadata", &memory_metadata);
  module.def("_musa_musaCachingAllocator_raw_alloc", &raw_alloc, py::call_guard<py::gil_scoped_release>());
  module.def("_musa_musaCachingAllocator_enable", &set_caching);
  module.def("_musa_musaCachingAllocator_raw_delete", &raw_delete);
  module.def("_musa_musaCachingAllocator_set_allocator_settings", &set_allocator_settings);
  module.def("_musa_attach_out_of_memory_observer", &attach_observer);
  module.def("_musa_register_unified_cpu_allocator", &use_unified_host_memory);
  module.def("_musa_reset_unified_cpu_allocator", &use_own_host_memory);
  module.def("_musa_register_unified_allocator", [] {});
}

} // namespace musasim
