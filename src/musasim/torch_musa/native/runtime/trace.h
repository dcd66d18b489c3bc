#pragma once

#include "musart/driver.h"

#include <c10/core/Stream.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace musasim {

// What a profile is made of: calls of the runtime on the host, and the work that they started on the device, as the records that a
// driver would give to the profiler.
enum class Traced { Kernel, Copy, Call };

struct ProfiledRecord {
  Traced kind;
  std::string name;
  int64_t start_ns; // since the Unix epoch, as Kineto counts
  int64_t end_ns;
  uint32_t correlation; // a call has that of the work that it started
  uint64_t op = 0; // the operator that was running, 0 for none
  uint64_t annotation = 0; // the record_function that was running, 0 for none
  int thread = 0; // of a call
  c10::DeviceIndex device = -1; // of work
  c10::StreamId stream = 0;
  size_t bytes = 0; // of a copy
  std::optional<musart::LaunchedKernel> launch; // of a kernel of CUDA C++
};

void start_trace();
std::vector<ProfiledRecord> stop_trace();

// The running operators of this thread, and its running annotations, innermost last, by Kineto's numbers.
enum class Running { Operators, Annotations };
void push_running(Running kind, uint64_t id);
void pop_running(Running kind);

extern std::atomic<bool> g_tracing;

inline bool is_tracing() {
  return g_tracing.load(std::memory_order_relaxed);
}

// Times are the stream's (`now_ns`, `completion_ns`).
void trace_work(Traced kind, std::string name, c10::Stream stream, int64_t start_ns, int64_t end_ns, uint32_t correlation);

// Records a call of the runtime, from construction to destruction. Without a trace it costs one load.
class TracedCall {
 public:
  explicit TracedCall(const char* name) {
    if (C10_UNLIKELY(is_tracing())) {
      begin(name);
    }
  }
  ~TracedCall() {
    if (C10_UNLIKELY(name_ != nullptr)) {
      end();
    }
  }
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;

  uint32_t correlation() const { // 0 without a trace
    return correlation_;
  }

 private:
  void begin(const char* name);
  void end();

  const char* name_ = nullptr;
  uint32_t correlation_ = 0;
  int64_t start_ns_ = 0;
};

// Records a call that starts work and is over before the work begins. Answers the call's number.
uint32_t trace_launch(const char* name);

// The same for work that another thread will do: the call's number, and what was running.
struct Launched {
  uint32_t correlation;
  uint64_t op;
  uint64_t annotation;
};
Launched launched_elsewhere(const char* call);
void trace_elsewhere(const std::string& kernel, c10::Stream stream, int64_t start_ns, int64_t end_ns, const Launched& launch);

// While it exists, this thread's work was started by the call with this number, as that of a graph, and no operator is running.
class StartedBy {
 public:
  explicit StartedBy(uint32_t call);
  ~StartedBy();
  StartedBy(const StartedBy&) = delete;
  StartedBy& operator=(const StartedBy&) = delete;

 private:
  const uint32_t before_;
};
uint32_t started_by(); // 0 for work of its own

enum class Place { Device, Pinned, Pageable };

struct CopyPlaces {
  Place from;
  Place to;
  size_t bytes;
};

// Records a call that starts work on the current stream, and the time from construction to destruction as that work. Without a
// trace it costs one load. Work that is being captured into a graph does not count as the device's yet.
class TracedWork {
 public:
  TracedWork(const char* op, c10::DeviceIndex device) { // a kernel
    if (C10_UNLIKELY(is_tracing())) {
      begin(op, device);
    }
  }
  template <std::invocable Places> // a copy
  TracedWork(const Places& places_of_copy, c10::DeviceIndex device) {
    if (C10_UNLIKELY(is_tracing())) {
      begin(places_of_copy(), device);
    }
  }
  explicit TracedWork(const musart::LaunchedKernel& kernel);
  ~TracedWork() {
    if (C10_UNLIKELY(correlation_ != 0)) {
      end();
    }
  }
  TracedWork(const TracedWork&) = delete;
  TracedWork& operator=(const TracedWork&) = delete;

 private:
  void begin(const char* op, c10::DeviceIndex device);
  void begin(const CopyPlaces& places, c10::DeviceIndex device);
  void start(const char* call);
  void end();

  Traced kind_ = Traced::Kernel;
  std::string name_;
  c10::DeviceIndex device_ = -1;
  size_t bytes_ = 0;
  const musart::LaunchedKernel* launch_ = nullptr; // which says more when it has run
  uint32_t correlation_ = 0;
  int64_t start_ns_ = 0;
};

} // namespace musasim
