#include "stream.h"

#include "capture.h"
#include "gpu_trace.h"
#include "launches.h"
#include "trace.h"

#include <c10/util/Exception.h>

#include <array>
#include <map>
#include <mutex>
#include <utility>

namespace musasim {
namespace {

constexpr int kPriorities = 1 - kHighestPriority;

std::exception_ptr& error_from_elsewhere() {
  thread_local std::exception_ptr error;
  return error;
}

void raise_from_elsewhere() {
  if (auto error = std::exchange(error_from_elsewhere(), nullptr)) {
    std::rethrow_exception(error);
  }
}

// Stream ids are torch_musa's: 0 is the default stream, an even number is a foreign handle. An odd one is a stream of the pool:
// four bits name its priority, from 1 on, and those above them its place among the streams of that priority.
constexpr int kPriorityBits = 4;
constexpr c10::StreamId slot_id(int slot) {
  const c10::StreamId priority = slot / kStreamsPerPool + 1;
  const c10::StreamId place = slot % kStreamsPerPool;
  return place << (kPriorityBits + 1) | priority << 1 | 1;
}

// The slot of such an id; that of an unknown one lies outside of the pool.
constexpr size_t slot_of_id(c10::StreamId id) {
  const auto priority = static_cast<size_t>(id >> 1 & ((1 << kPriorityBits) - 1));
  const auto place = static_cast<size_t>(id >> (kPriorityBits + 1));
  return priority == 0 || place >= kStreamsPerPool ? SIZE_MAX : (priority - 1) * kStreamsPerPool + place;
}

struct DeviceStreams {
  std::array<StreamState, kPriorities * kStreamsPerPool> pool;
  std::array<std::atomic<unsigned>, kPriorities> next{};
  std::atomic<bool> told{false};
  std::mutex mutex;
  std::map<void*, StreamState*> foreign;
};

// They are registered, so that the runtime API accepts their handles too.
void prepare(DeviceStreams& streams, int device) {
  for (size_t slot = 0; slot < streams.pool.size(); ++slot) {
    streams.pool[slot].device = device;
    streams.pool[slot].priority = slot < kStreamsPerPool ? 0 : kHighestPriority;
    musart::enlist(streams.pool[slot]);
  }
}

DeviceStreams& streams_of(c10::DeviceIndex device) {
  // Never destroyed: Python objects may outlive static destruction.
  static auto* all = [] {
    auto* made = new std::array<DeviceStreams, kMaxDevices>();
    for (int index = 0; index < device_count(); ++index) {
      prepare((*made)[index], index);
    }
    return made;
  }();
  return (*all)[device];
}

// A device's pool is made as a whole, when a program asks for the first stream of it.
void tell_of_creation(DeviceStreams& streams) {
  if (!streams.told.exchange(true)) {
    tell_gpu_trace([&](const auto& python) {
      for (const auto& state : streams.pool) {
        python.trace_gpu_stream_creation(kMusa, as_number(&state));
      }
    });
  }
}

thread_local std::array<c10::StreamId, kMaxDevices> t_current{};

StreamState& foreign_state(DeviceStreams& streams, c10::DeviceIndex device, void* handle) {
  if (auto* known = musart::find_stream(handle)) {
    return *known;
  }
  std::lock_guard<std::mutex> lock(streams.mutex);
  auto& state = streams.foreign[handle];
  if (state == nullptr) {
    state = new StreamState(); // a stream that musasim did not create gets a clock on its first use
    state->device = device;
  }
  return *state;
}

int slot_of(const DeviceStreams& streams, const void* handle) {
  const auto* first = streams.pool.data();
  const auto* state = static_cast<const StreamState*>(handle);
  const bool inside = state >= first && state < first + streams.pool.size();
  return inside ? static_cast<int>(state - first) : -1;
}

} // namespace

c10::Stream make_stream(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kMusa, device), id);
}

c10::Stream default_stream(c10::DeviceIndex device) {
  return make_stream(resolve_device(device), 0);
}

c10::Stream current_stream(c10::DeviceIndex device) {
  device = resolve_device(device);
  return make_stream(device, t_current[device]);
}

void set_current_stream(c10::Stream stream) noexcept {
  t_current[stream.device_index()] = stream.id();
}

c10::Stream pool_stream(c10::DeviceIndex device, int priority) {
  device = resolve_device(device);
  refuse_after_fork();
  const int level = priority < 0 ? 1 : 0;
  auto& streams = streams_of(device);
  tell_of_creation(streams);
  const int slot = level * kStreamsPerPool + static_cast<int>(streams.next[level]++ % kStreamsPerPool);
  return make_stream(device, slot_id(slot));
}

StreamState& stream_state(c10::Stream stream) {
  const auto id = stream.id();
  if (id == 0) {
    return musart::default_stream(stream.device_index());
  }
  auto& streams = streams_of(stream.device_index());
  if ((id & 1) == 0) {
    return foreign_state(streams, stream.device_index(), reinterpret_cast<void*>(id));
  }
  const auto slot = slot_of_id(id);
  TORCH_CHECK(slot < streams.pool.size(), "MUSA error: invalid stream id ", id);
  return streams.pool[slot];
}

int stream_priority(c10::Stream stream) {
  return stream_state(stream).priority;
}

void* stream_handle(c10::Stream stream) {
  const auto id = stream.id();
  if (id == 0) {
    return nullptr;
  }
  return (id & 1) == 0 ? reinterpret_cast<void*>(id) : &stream_state(stream);
}

c10::Stream external_stream(c10::DeviceIndex device, void* handle) {
  device = resolve_device(device);
  if (handle == nullptr) {
    return make_stream(device, 0);
  }
  TORCH_CHECK((reinterpret_cast<uintptr_t>(handle) & 1) == 0, "MUSA error: invalid resource handle");
  const int slot = slot_of(streams_of(device), handle);
  return make_stream(device, slot >= 0 ? slot_id(slot) : reinterpret_cast<c10::StreamId>(handle));
}

int64_t completion_ns(c10::Stream stream) {
  return musart::completion_ns(stream_state(stream));
}

void keep_busy(c10::Stream stream, int64_t nanoseconds) {
  stream_state(stream).busy_until = completion_ns(stream) + nanoseconds;
}

void wait_for(c10::Stream stream, int64_t when_ns) {
  musart::wait_for(stream_state(stream), when_ns);
}

bool is_idle(c10::Stream stream) {
  refuse_during_capture(stream);
  finish_launches_of(stream);
  const TracedCall call("musaStreamQuery");
  const bool idle = stream_state(stream).busy_until.load() <= now_ns();
  if (idle) {
    musart::streamcheck::host_waited_for(stream_state(stream));
  }
  return idle;
}

void synchronize_stream(c10::Stream stream) {
  refuse_after_fork();
  refuse_during_capture(stream);
  wait_for_results(stream);
}

SyncDebug& sync_debug_mode() {
  static SyncDebug mode = SyncDebug::Off;
  return mode;
}

void report_wait() {
  const auto mode = sync_debug_mode();
  TORCH_CHECK(mode != SyncDebug::Error, "called a synchronizing MUSA operation");
  if (mode == SyncDebug::Warn) {
    TORCH_WARN("called a synchronizing MUSA operation");
  }
}

void wait_for_results(c10::Stream stream) {
  report_wait();
  finish_launches_of(stream);
  tell_gpu_trace([&](const auto& python) {
    python.trace_gpu_stream_synchronization(kMusa, as_number(stream_handle(stream)));
  });
  const TracedCall call("musaStreamSynchronize");
  wait_until(stream_state(stream).busy_until.load());
  musart::streamcheck::host_waited_for(stream_state(stream));
  musart::trim_after_wait(stream.device_index());
  check_fault(stream.device_index());
}

void raise_after_wait(std::exception_ptr error) {
  if (error_from_elsewhere() == nullptr) { // later ones follow from it
    error_from_elsewhere() = std::move(error);
  }
}

void synchronize_device(c10::DeviceIndex device) {
  refuse_after_fork();
  refuse_during_any_capture(device);
  finish_launches();
  device = resolve_device(device);
  tell_gpu_trace([](const auto& python) { python.trace_gpu_device_synchronization(kMusa); });
  const TracedCall call("musaDeviceSynchronize");
  musart::wait_for_device(device);
  musart::streamcheck::host_waited_for_device(device);
  musart::trim_after_wait(device);
  check_fault(device);
  raise_from_elsewhere();
}

void record_event(EventState& event, c10::Stream stream) {
  refuse_after_fork();
  finish_launches_of(stream);
  const TracedCall call("musaEventRecord");
  musart::record_event(event, stream_state(stream));
}

void block_on_event(const EventState& event, c10::Stream stream) {
  refuse_after_fork();
  refuse_wait_of_default_stream(event, stream);
  const TracedCall call("musaStreamWaitEvent");
  musart::block_on_event(event, stream_state(stream));
}

bool is_complete(const EventState& event) {
  refuse_event_of_capture(event);
  const TracedCall call("musaEventQuery");
  const bool complete = time_of(event) <= now_ns();
  if (complete) {
    musart::streamcheck::host_waited_for(event);
  }
  return complete;
}

void synchronize_event(const EventState& event) {
  refuse_event_of_capture(event);
  const TracedCall call("musaEventSynchronize");
  wait_until(time_of(event));
  musart::streamcheck::host_waited_for(event);
  musart::trim_after_wait(event.device);
  check_postponed();
}

double elapsed_ms(const EventState& begin, const EventState& end) {
  return static_cast<double>(time_of(end) - time_of(begin)) / 1e6;
}

} // namespace musasim
