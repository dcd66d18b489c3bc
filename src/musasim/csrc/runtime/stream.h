#pragma once

#include "device.h"

#include <c10/core/Stream.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace musasim {

struct Capture;
struct OpenedMemory;

// Kernels run at once on the calling thread, so a stream is only a clock: `busy_until` says when the work queued on it
// would be done. It makes query, wait and elapsed_time honest without worker threads.
struct StreamState {
  std::atomic<int64_t> busy_until{0};
  std::atomic<Capture*> capture{nullptr};
  int priority = 0;
};

constexpr int kStreamsPerPool = 32;
constexpr int kHighestPriority = -1;

int64_t now_ns() noexcept;

c10::Stream make_stream(c10::DeviceIndex device, c10::StreamId id);
c10::Stream default_stream(c10::DeviceIndex device);
c10::Stream current_stream(c10::DeviceIndex device);
void set_current_stream(c10::Stream stream) noexcept;
c10::Stream pool_stream(c10::DeviceIndex device, int priority);

// The native handle is 0 for the default stream and the address of the state for every other one.
void* stream_handle(c10::Stream stream);
c10::Stream external_stream(c10::DeviceIndex device, void* handle);
void* create_external_stream();

StreamState& stream_state(c10::Stream stream);
int stream_priority(c10::Stream stream);

int64_t completion_ns(c10::Stream stream);
void keep_busy(c10::Stream stream, int64_t nanoseconds);
void wait_for(c10::Stream stream, int64_t when_ns);
bool is_idle(c10::Stream stream);
void synchronize_stream(c10::Stream stream);
void synchronize_device(c10::DeviceIndex device);

// Host code that must see device results (item, copy to host) waits without the checks of an explicit synchronize.
void wait_until(int64_t when_ns);

// The host's clock is the same in every process, so the time of an event means the same to all of them. An event that has a
// handle keeps it where they see it.
struct EventState {
  int64_t when_ns = 0;
  c10::DeviceIndex device = -1;
  Capture* capture = nullptr;
  std::atomic<int64_t>* shared = nullptr;
  std::string shared_handle;
  int64_t shared_index = 0;
  std::shared_ptr<OpenedMemory> opened; // where another process made the event
};

void record_event(EventState& event, c10::Stream stream);
void block_on_event(const EventState& event, c10::Stream stream);
bool is_complete(const EventState& event);
void synchronize_event(const EventState& event);
double elapsed_ms(const EventState& begin, const EventState& end);

} // namespace musasim
