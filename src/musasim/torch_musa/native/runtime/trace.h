#pragma once

#include <c10/core/Stream.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace musasim {

// The work that ran on the device during a profile, as the records that a driver would give to the profiler.
enum class Work { Kernel, Copy };

struct WorkRecord {
  std::string name;
  Work kind;
  int64_t start_ns; // since the Unix epoch, as Kineto counts
  int64_t end_ns;
  c10::DeviceIndex device;
  c10::StreamId stream;
  uint64_t correlation; // of the operator that launched it, 0 for none
};

void start_trace();
std::vector<WorkRecord> stop_trace();

// The running operators of this thread, innermost last, by Kineto's numbers.
void push_correlation(uint64_t id);
void pop_correlation();

extern std::atomic<bool> g_tracing;

inline bool is_tracing() {
  return g_tracing.load(std::memory_order_relaxed);
}

// Times are the stream's (`now_ns`, `completion_ns`).
void trace_work(Work kind, std::string name, c10::Stream stream, int64_t start_ns, int64_t end_ns);

// Records the time from construction to destruction as work of the current stream. Without a trace it costs one load. Work
// that is being captured into a graph does not count as the device's yet.
class TracedWork {
 public:
  TracedWork(Work kind, const char* name, c10::DeviceIndex device) {
    if (C10_UNLIKELY(is_tracing())) {
      begin(kind, name, device);
    }
  }
  ~TracedWork() {
    if (C10_UNLIKELY(name_ != nullptr)) {
      end();
    }
  }
  TracedWork(const TracedWork&) = delete;
  TracedWork& operator=(const TracedWork&) = delete;

 private:
  void begin(Work kind, const char* name, c10::DeviceIndex device);
  void end();

  const char* name_ = nullptr;
  Work kind_ = Work::Kernel;
  c10::DeviceIndex device_ = -1;
  int64_t start_ns_ = 0;
};

} // namespace musasim
