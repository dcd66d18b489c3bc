#include "timeline.h"

#include "device.h"
#include "trace.h"

#if __has_include(<kineto/IActivityProfiler.h>)
#define MUSASIM_HAS_KINETO 1
#ifndef FMT_HEADER_ONLY
#define FMT_HEADER_ONLY
#endif
#include <kineto/libkineto.h>
#include <kineto/output_base.h>
#else
#define MUSASIM_HAS_KINETO 0
#endif

#include <musa_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace musasim {

#if MUSASIM_HAS_KINETO

namespace {

using libkineto::ActivityType;
using libkineto::GenericTraceActivity;
using libkineto::getLinkedActivityCallback;

// The numbers that MUPTI gives the runtime's functions, and whether an arrow leads from a call to the work that it started.
struct RuntimeFunction {
  std::string_view name;
  int number;
  bool starts_work;
};
constexpr RuntimeFunction kRuntimeFunctions[] = {
    {"musaMalloc", 20, false},
    {"musaFree", 22, false},
    {"musaFreeHost", 26, false},
    {"musaHostAlloc", 27, false},
    {"musaMemcpyAsync", 41, true},
    {"musaStreamSynchronize", 131, false},
    {"musaStreamQuery", 132, false},
    {"musaEventRecord", 135, false},
    {"musaEventSynchronize", 137, false},
    {"musaEventQuery", 138, false},
    {"musaStreamWaitEvent", 147, false},
    {"musaPointerGetAttributes", 151, false},
    {"musaDeviceSynchronize", 165, false},
    {"musaLaunchKernel", 211, true},
    {"musaGraphLaunch", 311, true},
};

const RuntimeFunction& runtime_function(std::string_view name) {
  static constexpr RuntimeFunction unknown{"", 0, false};
  for (const auto& function : kRuntimeFunctions) {
    if (function.name == name) {
      return function;
    }
  }
  return unknown;
}

ActivityType type_of(Traced kind) {
  switch (kind) {
    case Traced::Copy:
      return ActivityType::GPU_MEMCPY;
    case Traced::Call:
      return ActivityType::PRIVATEUSE1_RUNTIME;
    default:
      return ActivityType::CONCURRENT_KERNEL;
  }
}

int attribute(int device, musaDeviceAttr wanted) {
  int value = 0;
  musaDeviceGetAttribute(&value, wanted, device);
  return value;
}

// As Kineto describes a device of CUDA's.
std::string properties_of(int device) {
  const auto& known = musart::device_properties();
  const auto pair = [&](const char* name, auto value) { return c10::str(", \"", name, "\": ", value); };
  const auto number = [&](const char* name, musaDeviceAttr wanted) { return pair(name, attribute(device, wanted)); };
  return c10::str("\n    {\"id\": ", device, ", \"name\": \"", known.name, "\"") + pair("totalGlobalMem", known.total_memory) +
      pair("computeMajor", known.major) + pair("computeMinor", known.minor) +
      number("maxThreadsPerBlock", musaDevAttrMaxThreadsPerBlock) +
      number("maxThreadsPerMultiprocessor", musaDevAttrMaxThreadsPerMultiProcessor) +
      number("regsPerBlock", musaDevAttrMaxRegistersPerBlock) + number("warpSize", musaDevAttrWarpSize) +
      number("sharedMemPerBlock", musaDevAttrMaxSharedMemoryPerBlock) + pair("numSms", known.multi_processor_count) +
      number("regsPerMultiprocessor", musaDevAttrMaxRegistersPerMultiprocessor) +
      number("sharedMemPerBlockOptin", musaDevAttrMaxSharedMemoryPerBlockOptin) +
      number("sharedMemPerMultiprocessor", musaDevAttrMaxSharedMemoryPerMultiprocessor) + "}";
}

std::string properties_of_all() {
  std::string text;
  for (int device = 0; device < device_count(); ++device) {
    text += (device == 0 ? "" : ",") + properties_of(device);
  }
  return text;
}

// Newer releases of Kineto have no constructor, and another order.
template <typename Info>
Info row_of(int64_t device, int64_t stream, const std::string& name) {
  if constexpr (std::is_aggregate_v<Info>) {
    return Info{stream, stream, device, name};
  } else {
    return Info(device, stream, stream, name);
  }
}

// The records of one profile as Kineto's activities.
class Timeline {
 public:
  Timeline(const std::set<ActivityType>& wanted, getLinkedActivityCallback activity_of)
      : wanted_(wanted), activity_of_(std::move(activity_of)) {}

  void add(const ProfiledRecord& record) {
    if (wanted_.count(type_of(record.kind)) != 0) {
      record.kind == Traced::Call ? add_call(record) : add_work(record);
    }
    if (record.kind != Traced::Call && wanted_.count(ActivityType::GPU_USER_ANNOTATION) != 0) {
      extend_annotation(record);
    }
  }

  void log(libkineto::ActivityLogger& logger) {
    for (auto& [of, annotation] : annotations_) {
      buffer_->activities.push_back(std::move(annotation));
    }
    for (const auto& activity : buffer_->activities) {
      activity->log(logger);
    }
    name_rows(logger);
    buffer_->gpuOpCount = static_cast<int>(buffer_->activities.size());
  }

  std::unique_ptr<libkineto::CpuTraceBuffer> take() {
    return std::move(buffer_); // the trace refers to its contents
  }

 private:
  std::unique_ptr<GenericTraceActivity> activity(ActivityType type, const std::string& name, const ProfiledRecord& record) {
    auto made = std::make_unique<GenericTraceActivity>(buffer_->span, type, name);
    made->startTime = record.start_ns;
    made->endTime = record.end_ns;
    return made;
  }

  GenericTraceActivity& numbered(const ProfiledRecord& record, bool has_arrow, bool is_start) {
    auto made = activity(type_of(record.kind), record.name, record);
    made->id = static_cast<int32_t>(record.correlation);
    made->linked = record.op == 0 ? nullptr : activity_of_(static_cast<int32_t>(record.op));
    if (has_arrow) {
      made->flow.id = record.correlation;
      made->flow.type = libkineto::kLinkAsyncCpuGpu;
      made->flow.start = is_start ? 1 : 0;
    }
    made->addMetadata("correlation", record.correlation);
    buffer_->activities.push_back(std::move(made));
    return *buffer_->activities.back();
  }

  void add_call(const ProfiledRecord& record) {
    const auto& function = runtime_function(record.name);
    auto& call = numbered(record, function.starts_work, /*is_start=*/true);
    call.device = static_cast<int32_t>(getpid());
    call.resource = call.threadId = record.thread;
    call.addMetadata("cbid", function.number);
  }

  void add_work(const ProfiledRecord& record) {
    auto& work = numbered(record, record.correlation != 0, /*is_start=*/false);
    work.device = record.device;
    work.resource = static_cast<int32_t>(record.stream);
    work.addMetadata("device", static_cast<int>(record.device));
    work.addMetadata("context", 1); // each device has its primary context alone
    work.addMetadata("stream", static_cast<int64_t>(record.stream));
    if (record.kind == Traced::Copy) {
      const auto nanoseconds = std::max<int64_t>(record.end_ns - record.start_ns, 1);
      work.addMetadata("bytes", record.bytes);
      work.addMetadata("memory bandwidth (GB/s)", static_cast<double>(record.bytes) / static_cast<double>(nanoseconds));
    }
    if (record.launch.has_value()) {
      add_geometry(work, *record.launch);
    }
    rows_.insert({record.device, record.stream});
  }

  static void add_geometry(GenericTraceActivity& work, const musart::LaunchedKernel& kernel) {
    const auto list = [](const auto& extent) { return c10::str("[", extent[0], ", ", extent[1], ", ", extent[2], "]"); };
    const auto count = [](const auto& extent) { return static_cast<double>(extent[0]) * extent[1] * extent[2]; };
    const auto blocks = count(kernel.grid) / musart::device_properties().multi_processor_count;
    work.addMetadata("shared memory", kernel.shared);
    work.addMetadata("blocks per SM", blocks);
    work.addMetadata("warps per SM", blocks * count(kernel.block) / 32);
    work.addMetadata("grid", list(kernel.grid));
    work.addMetadata("block", list(kernel.block));
  }

  // A record_function, as long as the work that it started on a stream.
  void extend_annotation(const ProfiledRecord& record) {
    const auto* of = record.annotation == 0 ? nullptr : activity_of_(static_cast<int32_t>(record.annotation));
    if (of == nullptr) {
      return;
    }
    auto& annotation = annotations_[{record.device, record.stream, record.annotation}];
    if (annotation == nullptr) {
      annotation = activity(ActivityType::GPU_USER_ANNOTATION, of->name(), record);
      annotation->id = static_cast<int32_t>(record.annotation);
      annotation->device = record.device;
      annotation->resource = static_cast<int32_t>(record.stream);
    }
    annotation->startTime = std::min(annotation->startTime, record.start_ns);
    annotation->endTime = std::max(annotation->endTime, record.end_ns);
  }

  void name_rows(libkineto::ActivityLogger& logger) {
    std::optional<int> named;
    for (const auto& [device, stream] : rows_) {
      if (named != device) {
        const std::string label = c10::str("GPU ", device);
        logger.handleDeviceInfo({device, device + libkineto::kExceedMaxPid, process_name(), label}, 0);
        named = device;
      }
      logger.handleResourceInfo(row_of<libkineto::ResourceInfo>(device, stream, c10::str("stream ", stream, " ")), 0);
    }
  }

  static std::string process_name() {
    return program_invocation_short_name;
  }

  const std::set<ActivityType>& wanted_;
  const getLinkedActivityCallback activity_of_;
  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
  std::map<std::tuple<int, c10::StreamId, uint64_t>, std::unique_ptr<GenericTraceActivity>> annotations_;
  std::set<std::pair<int, c10::StreamId>> rows_;
};

// One recording of torch.profiler.profile.
class TraceSession final : public libkineto::IActivityProfilerSession {
 public:
  explicit TraceSession(std::set<ActivityType> wanted) : wanted_(std::move(wanted)) {}

  void start() override {
    status_ = libkineto::TraceStatus::RECORDING;
    start_trace();
  }
  void stop() override {
    records_ = stop_trace();
    status_ = libkineto::TraceStatus::PROCESSING;
  }
  std::vector<std::string> errors() override {
    return {};
  }
  void processTrace(libkineto::ActivityLogger& logger) override {
    processTrace(logger, [](int32_t) { return nullptr; }, 0, 0);
  }
  void processTrace(
      libkineto::ActivityLogger& logger, getLinkedActivityCallback activity_of, int64_t /*start*/, int64_t /*end*/) override {
    Timeline timeline(wanted_, std::move(activity_of));
    for (const auto& record : records_) {
      timeline.add(record);
    }
    timeline.log(logger);
    buffer_ = timeline.take();
  }
  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override {
    return nullptr; // there may be several
  }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override {
    return {};
  }
  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override {
    return std::move(buffer_);
  }
  std::string getDeviceProperties() override {
    return properties_of_all();
  }
  void pushCorrelationId(uint64_t id) override {
    push_running(Running::Operators, id);
  }
  void popCorrelationId() override {
    pop_running(Running::Operators);
  }
  void pushUserCorrelationId(uint64_t id) override {
    push_running(Running::Annotations, id);
  }
  void popUserCorrelationId() override {
    pop_running(Running::Annotations);
  }

 private:
  const std::set<ActivityType> wanted_;
  std::vector<ProfiledRecord> records_;
  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
};

class TraceProfiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override {
    return name_;
  }
  const std::set<ActivityType>& availableActivities() const override {
    return activities_;
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      const std::set<ActivityType>& wanted, const libkineto::Config& /*config*/) override {
    const bool of_the_host_alone = std::none_of(
        activities_.begin(), activities_.end(), [&](ActivityType type) { return wanted.count(type) != 0; });
    return of_the_host_alone ? nullptr : std::make_unique<TraceSession>(wanted);
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      int64_t /*start_ms*/,
      int64_t /*duration_ms*/,
      const std::set<ActivityType>& wanted,
      const libkineto::Config& config) override {
    return configure(wanted, config);
  }

 private:
  const std::string name_ = "musasim";
  const std::set<ActivityType> activities_ = {
      ActivityType::CONCURRENT_KERNEL, ActivityType::GPU_MEMCPY, ActivityType::PRIVATEUSE1_RUNTIME};
};

} // namespace

void register_timeline() {
  libkineto::api().registerProfilerFactory([] { return std::make_unique<TraceProfiler>(); });
}

#else

void register_timeline() {}

#endif

} // namespace musasim
