#include "profiler.h"

#include "device.h"
#include "stream.h"
#include "timeline.h"

#include <c10/core/DeviceGuard.h>
#include <c10/util/ApproximateClock.h>
#include <torch/csrc/profiler/stubs/base.h>

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

} // namespace

void register_profiler() {
  static MusaStubs stubs;
  torch::profiler::impl::registerPrivateUse1Methods(&stubs);
  register_timeline();
}

} // namespace musasim
