// The clock of DistributedDataParallel's statistics for the device: events, as in the clock that PyTorch has for CUDA. For a device
// without one, every rank prints a warning and has no statistics.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace torchada {

class DdpTimer final : public c10d::Timer {
 public:
  explicit DdpTimer(c10::Device device) : device_(device) {}

  void record(Event event) override {
    c10d::Timer::record(event); // the host's time
    at(event).record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  }

  std::optional<int64_t> measureDifference(Event start, Event end) override {
    const auto &begin = at(start), &finish = at(end);
    // A program may have called only the forward pass.
    if (!begin.was_marked_for_recording() || !finish.was_marked_for_recording()) {
      return std::nullopt;
    }
    try {
      begin.synchronize();
      finish.synchronize();
      const double milliseconds = begin.elapsedTime(finish);
      return milliseconds < 0 ? std::nullopt : std::optional<int64_t>(static_cast<int64_t>(milliseconds * 1e6));
    } catch (const std::exception&) { // a device guard that measures no times
      return std::nullopt;
    }
  }

 private:
  c10::Event& at(Event event) {
    return events_[static_cast<size_t>(event)];
  }

  c10::Event made() const {
    return c10::Event(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
  }

  c10::Device device_;
  std::array<c10::Event, 5> events_{made(), made(), made(), made(), made()};
};

inline std::atomic<bool> g_times_ddp{false};

// PyTorch's table takes a device type once, and never gives it back.
inline void time_ddp(bool on) {
  static const bool is_ours = [] {
    if (c10d::TimerRegistry()->Has(c10::DeviceType::PrivateUse1)) {
      return false;
    }
    c10d::TimerRegistry()->Register(c10::DeviceType::PrivateUse1, [](c10::Device device) -> std::unique_ptr<c10d::Timer> {
      return g_times_ddp ? std::make_unique<DdpTimer>(device) : nullptr;
    });
    return true;
  }();
  g_times_ddp = on && is_ours;
}

} // namespace torchada

extern "C" __attribute__((visibility("default"))) void torchada_time_ddp(int on) {
  torchada::time_ddp(on != 0);
}
