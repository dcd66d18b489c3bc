#include "profiler.h"

#include "device.h"
#include "stream.h"
#include "trace.h"

#include <c10/core/DeviceGuard.h>
#include <c10/util/ApproximateClock.h>
#include <torch/csrc/profiler/stubs/base.h>

#if __has_include(<kineto/IActivityProfiler.h>)
#define MUSASIM_HAS_KINETO 1
#ifndef FMT_HEADER_ONLY
#define FMT_HEADER_ONLY
#endif
#include <kineto/libkineto.h>
#else
#define MUSASIM_HAS_KINETO 0
#endif

namespace musasim {
namespace {

// torch.autograd.profiler.profile(use_device="musa"): an event before and one after every operator.
struct MusaStubs final : torch::profiler::impl::ProfilerStubs {
  void record(
      c10::DeviceIndex* device,
      torch::profiler::impl::ProfilerVoidEventStub* event,
      int64_t* cpu_ns) const override {
    if (device != nullptr) {
      *device = current_device();
    }
    auto state = std::make_shared<EventState>();
    if (cpu_ns != nullptr) {
      *cpu_ns = c10::getTime();
    }
    record_event(*state, current_stream(-1));
    *event = std::move(state);
  }
  float elapsed(
      const torch::profiler::impl::ProfilerVoidEventStub* begin,
      const torch::profiler::impl::ProfilerVoidEventStub* end) const override {
    const auto& from = *static_cast<const EventState*>(begin->get());
    const auto& to = *static_cast<const EventState*>(end->get());
    return static_cast<float>(elapsed_ms(from, to) * 1000.0); // the profiler counts microseconds
  }
  void mark(const char* /*name*/) const override {}
  void rangePush(const char* /*name*/) const override {}
  void rangePop() const override {}
  bool enabled() const override {
    return device_count() > 0;
  }
  void onEachDevice(std::function<void(int)> op) const override {
    for (c10::DeviceIndex i = 0; i < device_count(); ++i) {
      const c10::DeviceGuard guard(c10::Device(kMusa, i));
      op(i);
    }
  }
  void synchronize() const override {
    synchronize_device(-1);
  }
};

#if MUSASIM_HAS_KINETO

using libkineto::ActivityType;

// One recording of torch.profiler.profile.
class TraceSession final : public libkineto::IActivityProfilerSession {
 public:
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
      libkineto::ActivityLogger& logger,
      libkineto::getLinkedActivityCallback operator_of,
      int64_t /*start*/,
      int64_t /*end*/) override {
    for (const auto& record : records_) {
      add(record, operator_of);
      buffer_->activities.back()->log(logger);
    }
    buffer_->gpuOpCount = static_cast<int>(records_.size());
  }
  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override {
    return nullptr;
  }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override {
    return {};
  }
  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override {
    return std::move(buffer_); // the trace refers to its contents
  }
  void pushCorrelationId(uint64_t id) override {
    push_correlation(id);
  }
  void popCorrelationId() override {
    pop_correlation();
  }

 private:
  void add(const WorkRecord& record, const libkineto::getLinkedActivityCallback& operator_of) {
    const auto type = record.kind == Work::Copy ? ActivityType::GPU_MEMCPY : ActivityType::CONCURRENT_KERNEL;
    auto activity = std::make_unique<libkineto::GenericTraceActivity>(buffer_->span, type, record.name);
    activity->startTime = record.start_ns;
    activity->endTime = record.end_ns;
    activity->id = static_cast<int32_t>(record.correlation);
    activity->device = record.device;
    activity->resource = static_cast<int32_t>(record.stream);
    activity->linked = record.correlation == 0 ? nullptr : operator_of(activity->id);
    activity->addMetadata("device", static_cast<int>(record.device));
    activity->addMetadata("stream", static_cast<int64_t>(record.stream));
    activity->addMetadata("correlation", record.correlation);
    buffer_->activities.push_back(std::move(activity));
  }

  std::vector<WorkRecord> records_;
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
      const std::set<ActivityType>& wanted,
      const libkineto::Config& /*config*/) override {
    if (wanted.count(ActivityType::CONCURRENT_KERNEL) == 0) {
      return nullptr; // a profile of the host alone
    }
    return std::make_unique<TraceSession>();
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
  const std::set<ActivityType> activities_ = {ActivityType::CONCURRENT_KERNEL, ActivityType::GPU_MEMCPY};
};

#endif

} // namespace

void register_profiler() {
  static MusaStubs stubs;
  torch::profiler::impl::registerPrivateUse1Methods(&stubs);
#if MUSASIM_HAS_KINETO
  libkineto::api().registerProfilerFactory([] { return std::make_unique<TraceProfiler>(); });
#endif
}

} // namespace musasim
