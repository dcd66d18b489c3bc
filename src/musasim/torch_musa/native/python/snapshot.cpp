#include "parts.h"

#include "../runtime/allocator.h"
#include "../runtime/allocator_settings.h"
#include "../runtime/release.h"
#include "torch_musa/csrc/core/memory_snapshot.h"

#include <pybind11/stl.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <string>

// PyTorch's own, in a header that newer wheels cannot include without another library's.
namespace torch {
TORCH_API std::vector<pybind11::object> py_symbolize(std::vector<CapturedTraceback*>& to_symbolize);
}

namespace musasim {
namespace py = pybind11;
namespace {

// Frames are looked up once for the whole snapshot, because equal ones are frequent.
class Frames {
 public:
  // `frames` of an entry without any is an empty list, or missing.
  void describe(const py::dict& entry, const Context& context, bool always) {
    if (auto* traceback = dynamic_cast<torch::CapturedTraceback*>(context.get())) {
      tracebacks_.push_back(traceback);
      owners_.push_back(context);
      entries_.push_back(entry);
    } else if (always) {
      entry["frames"] = py::list();
    }
  }
  void fill_in() {
    const auto found = torch::py_symbolize(tracebacks_);
    for (size_t i = 0; i < found.size(); ++i) {
      entries_[i]["frames"] = found[i];
    }
  }

 private:
  std::vector<torch::CapturedTraceback*> tracebacks_;
  std::vector<Context> owners_; // the allocator may drop a traceback before it has been looked up
  std::vector<py::dict> entries_;
};

py::dict describe(const BlockRecord& block, Frames& frames) {
  py::dict made;
  made["address"] = block.address;
  made["size"] = block.size;
  made["requested_size"] = block.requested;
  made["state"] = block.state;
  frames.describe(made, block.context, /*always=*/true);
  return made;
}

void sum_up(py::dict& made, const SegmentRecord& segment) {
  size_t allocated = 0;
  size_t active = 0;
  size_t requested = 0;
  for (const auto& block : segment.blocks) {
    const std::string state = block.state;
    allocated += state == "active_allocated" ? block.size : 0;
    active += state == "inactive" ? 0 : block.size;
    requested += block.requested;
  }
  made["allocated_size"] = allocated;
  made["active_size"] = active;
  made["requested_size"] = requested;
}

py::dict describe(const SegmentRecord& segment, Frames& frames) {
  py::dict made;
  made["device"] = int{segment.device};
  made["address"] = segment.address;
  made["total_size"] = segment.total_size;
  sum_up(made, segment);
  made["stream"] = segment.stream;
  made["segment_type"] = segment.is_small ? "small" : "large";
  made["segment_pool_id"] = segment.pool;
  made["is_expandable"] = segment.is_expandable;
  frames.describe(made, segment.context, /*always=*/true);
  py::list blocks;
  for (const auto& block : segment.blocks) {
    blocks.append(describe(block, frames));
  }
  made["blocks"] = blocks;
  return made;
}

py::dict describe(const TraceRecord& entry, Frames& frames) {
  py::dict made;
  frames.describe(made, entry.context, /*always=*/false);
  made["action"] = entry.action;
  made[std::string(entry.action) == "oom" ? "device_free" : "addr"] = entry.address;
  made["size"] = entry.size;
  made["stream"] = entry.stream;
  made["time_us"] = entry.time_us;
  if (since(Release::v2_9_1)) {
    made["compile_context"] = "";
  }
  if (since(Release::v2_11_0)) {
    made["user_metadata"] = entry.metadata;
  }
  return made;
}

py::list describe_traces(Frames& frames) {
  py::list traces;
  for (const auto& device : snapshot_traces()) {
    py::list entries;
    for (const auto& entry : device) {
      entries.append(describe(entry, frames));
    }
    traces.append(entries);
  }
  return traces;
}

// Of one pool, or of all for the id (0, 0).
py::list describe_segments(Frames& frames, PoolId pool) {
  py::list segments;
  for (const auto& segment : snapshot_segments()) {
    if (pool == PoolId{0, 0} || segment.pool == pool) {
      segments.append(describe(segment, frames));
    }
  }
  return segments;
}

py::list describe_annotations() {
  py::list all;
  for (const auto& annotation : annotations()) {
    py::dict made;
    made["name"] = annotation.name;
    made["stage"] = annotation.stage;
    made["device"] = int{annotation.device};
    made["time_us"] = annotation.time_us;
    all.append(made);
  }
  return all;
}

py::dict describe_settings() {
  const auto& settings = allocator_settings();
  py::dict roundup;
  unsigned megabytes = 1;
  for (const auto divisions : settings.roundup_divisions) {
    roundup[py::str(std::to_string(megabytes))] = divisions;
    megabytes *= 2;
  }
  py::dict made;
  made["PYTORCH_MUSA_ALLOC_CONF"] = settings.text;
  made["max_split_size"] = static_cast<int64_t>(settings.max_split_size); // -1: no limit
  made["garbage_collection_threshold"] = settings.garbage_collection_threshold;
  made["expandable_segments"] = settings.expandable_segments;
  made["pinned_num_register_threads"] = settings.pinned_register_threads;
  made["release_lock_on_musamalloc"] = settings.release_lock_on_malloc;
  made["pinned_use_musa_host_register"] = settings.pinned_host_register;
  made["roundup_power2_divisions"] = roundup;
  return made;
}

py::dict snapshot(PoolId pool = {0, 0}, bool include_traces = true) {
  Frames frames;
  py::dict made;
  made["device_traces"] = include_traces ? describe_traces(frames) : py::list(); // itself it is an entry of the next one's
  made["segments"] = describe_segments(frames, pool);
  made["allocator_settings"] = describe_settings();
  made["external_annotations"] = describe_annotations();
  frames.fill_in();
  return made;
}

// 2.7.1 takes nothing; then it is None, (pool, pool), or since 2.11.0 (pool, pool, whether with traces).
py::dict snapshot_of(const py::args& arguments) {
  const size_t wanted = since(Release::v2_9_1) ? 1 : 0;
  TORCH_CHECK_TYPE(
      arguments.size() == wanted, "_musa_memorySnapshot() takes ", wanted, " arguments, but got ", arguments.size());
  if (wanted == 0 || arguments[0].is_none()) {
    return snapshot();
  }
  TORCH_CHECK(py::isinstance<py::tuple>(arguments[0]), "mempool_id must be a tuple");
  const auto given = arguments[0].cast<py::tuple>();
  const bool with_traces = given.size() == 3 && since(Release::v2_11_0);
  TORCH_CHECK(given.size() == 2 || with_traces, "mempool_id must be a tuple of 2 integers");
  return snapshot(
      {given[0].cast<unsigned long long>(), given[1].cast<unsigned long long>()},
      !with_traces || given[2].cast<bool>());
}

Gather gather_level(const std::optional<std::string>& context) {
  if (!context) {
    return Gather::Never;
  }
  TORCH_CHECK(
      *context == "state" || *context == "alloc" || *context == "all",
      "expected context to be 'state', 'alloc', 'all', or None");
  return *context == "state" ? Gather::State : *context == "alloc" ? Gather::Alloc : Gather::All;
}

void record(
    const std::optional<std::string>& enabled,
    const std::optional<std::string>& context,
    const std::string& stacks,
    size_t max_entries,
    bool clear_history = false,
    bool /*compile_context*/ = false,
    bool /*global_record_annotations*/ = false,
    const std::vector<std::string>& skip_actions = {}) {
  TORCH_CHECK(
      !enabled || *enabled == "state" || *enabled == "all", "expected state to be 'state', 'all', or None");
  const auto level = gather_level(context);
  TORCH_CHECK(stacks == "python" || stacks == "all", "expected stacks to be 'python', or 'all'");
  const bool keeps_entries = enabled && *enabled == "all";
  record_history(
      {enabled.has_value(),
       level,
       enabled && context && stacks == "all",
       keeps_entries ? max_entries : 1,
       clear_history,
       skip_actions});
}

void record_legacy(
    bool enabled,
    bool record_context,
    size_t max_entries,
    bool trace_context,
    bool with_cpp,
    bool clear_history = false,
    bool /*compile_context*/ = false,
    bool /*global_record_annotations*/ = false,
    const std::vector<std::string>& skip_actions = {}) {
  const auto level = trace_context ? Gather::Alloc : record_context ? Gather::State : Gather::Never;
  record_history({enabled, level, enabled && with_cpp && level != Gather::Never, max_entries, clear_history, skip_actions});
}

std::string pickled_snapshot() {
  const py::gil_scoped_acquire interpreter; // C++ code calls this from any thread
  const auto dumps = py::module_::import("pickle").attr("dumps");
  return dumps(snapshot(), py::arg("protocol") = 2).cast<std::string>(); // the protocol of PyTorch's own pickles
}

} // namespace

// Each release has added arguments at the end, without defaults.
void add_recording(py::module_& module) {
  using Text = std::optional<std::string>;
  const char* name = "_musa_record_memory_history";
  const char* legacy = "_musa_record_memory_history_legacy";
  if (since(Release::v2_11_0)) {
    module.def(name, &record);
    module.def(legacy, &record_legacy);
  } else if (since(Release::v2_9_1)) {
    module.def(name, [](Text enabled, Text context, std::string stacks, size_t entries, bool clear, bool, bool) {
      record(enabled, context, stacks, entries, clear);
    });
    module.def(legacy, [](bool on, bool context, size_t entries, bool trace, bool cpp, bool clear, bool, bool) {
      record_legacy(on, context, entries, trace, cpp, clear);
    });
  } else {
    module.def(name, [](Text enabled, Text context, std::string stacks, size_t entries) {
      record(enabled, context, stacks, entries);
    });
    module.def(legacy, [](bool on, bool context, size_t entries, bool trace, bool cpp) {
      record_legacy(on, context, entries, trace, cpp);
    });
  }
}

void add_snapshots(py::module_& module) {
  module.def("_musa_memorySnapshot", &snapshot_of);
  module.def("_musa_isHistoryEnabled", &history_enabled);
}

} // namespace musasim

namespace torch::musa {

void _record_memory_history(
    bool enabled,
    bool record_context,
    int64_t trace_alloc_max_entries,
    bool trace_alloc_record_context,
    bool record_cpp_context) {
  musasim::record_legacy(
      enabled,
      record_context,
      static_cast<size_t>(trace_alloc_max_entries),
      trace_alloc_record_context,
      record_cpp_context);
}

void _record_memory_history(
    std::optional<std::string> enabled,
    std::optional<std::string> context,
    const std::string& stacks,
    size_t max_entries) {
  musasim::record(enabled, context, stacks, max_entries);
}

std::string _memory_snapshot_pickled() {
  return musasim::pickled_snapshot();
}

} // namespace torch::musa
