#include "parts.h"

#include "../runtime/allocator.h"
#include "../runtime/device.h"
#include "../runtime/pluggable.h"

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
  made["max_split_size"] = -1; // no limit, as without max_split_size_mb
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

py::dict describe(const BlockRecord& block) {
  py::dict made;
  made["address"] = block.address;
  made["size"] = block.size;
  made["requested_size"] = block.requested;
  made["state"] = block.state;
  made["frames"] = py::list();
  return made;
}

py::dict describe(const SegmentRecord& segment) {
  py::list blocks;
  size_t allocated = 0;
  size_t active = 0;
  size_t requested = 0;
  for (const auto& block : segment.blocks) {
    const std::string state = block.state;
    allocated += state == "active_allocated" ? block.size : 0;
    active += state == "inactive" ? 0 : block.size;
    requested += block.requested;
    blocks.append(describe(block));
  }
  py::dict made;
  made["device"] = int{segment.device};
  made["address"] = segment.address;
  made["total_size"] = segment.total_size;
  made["allocated_size"] = allocated;
  made["active_size"] = active;
  made["requested_size"] = requested;
  made["stream"] = segment.stream;
  made["segment_type"] = segment.is_small ? "small" : "large";
  made["segment_pool_id"] = segment.pool;
  made["is_expandable"] = false;
  made["frames"] = py::list();
  made["blocks"] = blocks;
  return made;
}

py::dict describe(const TraceRecord& entry) {
  py::dict made;
  made["action"] = entry.action;
  made[std::string(entry.action) == "oom" ? "device_free" : "addr"] = entry.address;
  made["size"] = entry.size;
  made["stream"] = entry.stream;
  made["time_us"] = entry.time_us;
  made["frames"] = py::list();
  return made;
}

std::string& allocator_settings() {
  static auto* settings = new std::string();
  return *settings;
}

// Options are checked and stored. None has an effect on memory that the host manages.
void set_allocator_settings(const std::string& settings) {
  size_t begin = 0;
  while (begin < settings.size()) {
    const auto end = std::min(settings.find(',', begin), settings.size());
    const auto option = settings.substr(begin, end - begin);
    TORCH_CHECK(option.find(':') != std::string::npos, "Error parsing allocator settings: expected key:value, got ", option);
    begin = end + 1;
  }
  allocator_settings() = settings;
}

py::dict snapshot() {
  py::list segments;
  for (const auto& segment : snapshot_segments()) {
    segments.append(describe(segment));
  }
  py::list traces;
  for (const auto& device : snapshot_traces()) {
    py::list entries;
    for (const auto& entry : device) {
      entries.append(describe(entry));
    }
    traces.append(entries);
  }
  py::dict settings;
  settings["PYTORCH_MUSA_ALLOC_CONF"] = allocator_settings();
  settings["expandable_segments"] = false;
  py::dict made;
  made["segments"] = segments;
  made["device_traces"] = traces;
  made["allocator_settings"] = settings;
  made["external_annotations"] = py::list();
  return made;
}

// Frees memory by its address only.
// torch_musa 2.7.1 has this function but not its counterpart raw_alloc, so Python has no address to pass.
void raw_delete(uintptr_t address) {
  TORCH_CHECK(false, "invalid device pointer: ", address);
}

void attach_observer(py::function observer) {
  // Leaked, because it is called as long as the process allocates.
  auto* kept = new py::function(std::move(observer));
  attach_oom_observer([kept](c10::DeviceIndex device, size_t requested, size_t total, size_t free) {
    const py::gil_scoped_acquire acquire;
    (*kept)(int{device}, requested, total, free);
  });
}

class MemPool {
 public:
  MemPool(const py::object& allocator, bool user_created)
      : allocator_(allocator), id_(new_pool_id(user_created)), device_(current_device()) {
    retain_pool(device_, id_);
    if (!allocator.is_none()) {
      set_pool_allocator(id_, allocator.cast<std::shared_ptr<PluggableAllocator>>());
    }
  }
  ~MemPool() {
    release_pool(device_, id_);
  }
  MemPool(const MemPool&) = delete;
  MemPool& operator=(const MemPool&) = delete;

  PoolId id() const {
    return id_;
  }
  py::object allocator() const {
    return allocator_;
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
      .def(py::init<py::object, bool>(), py::arg("allocator") = py::none(), py::arg("is_user_created") = true)
      .def_property_readonly("id", &MemPool::id)
      .def_property_readonly("allocator", &MemPool::allocator);
  py::class_<MemPoolContext>(module, "_MemPoolContext")
      .def(py::init<py::object>())
      .def_static("active_pool", [] { return MemPoolContext::active(); });
  module.def("_musa_beginAllocateToPool", [](int device, PoolId pool) {
    begin_allocate_to_pool(static_cast<c10::DeviceIndex>(device), pool, /*every_stream=*/true);
  });
  module.def("_musa_beginAllocateCurrentStreamToPool", [](int device, PoolId pool) {
    begin_allocate_to_pool(static_cast<c10::DeviceIndex>(device), pool, /*every_stream=*/false);
  });
  module.def("_musa_endAllocateCurrentStreamToPool", [](int device, PoolId pool) {
    end_allocate_to_pool(static_cast<c10::DeviceIndex>(device), pool);
  });
  module.def("_musa_releasePool", [](int device, PoolId pool) {
    release_pool(static_cast<c10::DeviceIndex>(device), pool);
  });
}

} // namespace

void add_memory_functions(py::module_& module) {
  add_allocators(module);
  add_pools(module);
  module.def("_musa_memoryStats", &stats_of);
  module.def("_musa_resetPeakMemoryStats", [](int device) { reset_peak_stats(static_cast<c10::DeviceIndex>(device)); });
  module.def("_musa_resetAccumulatedMemoryStats", [](int device) {
    reset_accumulated_stats(static_cast<c10::DeviceIndex>(device));
  });
  module.def("_musa_emptyCache", &empty_cache, py::call_guard<py::gil_scoped_release>());
  module.def("_musa_memorySnapshot", &snapshot);
  module.def("_musa_setMemoryFraction", [](double fraction, int device) {
    set_memory_fraction(static_cast<c10::DeviceIndex>(device), fraction);
  });
  module.def("_musa_musaCachingAllocator_raw_delete", &raw_delete);
  module.def("_musa_musaCachingAllocator_set_allocator_settings", &set_allocator_settings);
  module.def("_musa_attach_out_of_memory_observer", &attach_observer);
  module.def(
      "_musa_record_memory_history",
      [](const py::object& enabled, const py::args& args, const py::kwargs& kwargs) {
        size_t limit = 1'000'000;
        if (kwargs.contains("max_entries")) {
          limit = kwargs["max_entries"].cast<size_t>();
        } else if (args.size() > 2) {
          limit = args[2].cast<size_t>();
        }
        record_history(!enabled.is_none(), limit);
      });
  module.def("_musa_record_memory_history_legacy", [](bool enabled, const py::args&, const py::kwargs&) {
    record_history(enabled, 1'000'000);
  });
  module.def("_musa_isHistoryEnabled", &history_enabled);
  module.def("_musa_register_unified_cpu_allocator", [] {});
  module.def("_musa_reset_unified_cpu_allocator", [] {});
  module.def("_musa_register_unified_allocator", [] {});
}

} // namespace musasim
