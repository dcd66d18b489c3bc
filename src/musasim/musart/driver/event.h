// Events: a time of a stream's clock, and what a capture had recorded by then.
#pragma once

#include "capture.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#pragma GCC visibility push(default)
namespace musart {

// The time of an event that several processes share. The host's clock is the same for all of them.
struct SharedTime {
  std::atomic<int64_t>* when_ns = nullptr;
  std::string handle; // of its memory
  int64_t index = 0;
  std::shared_ptr<void> memory; // keeps that memory open
};

struct Event {
  int64_t when_ns = 0;
  int device = -1;
  Capture* capture = nullptr;
  Progress progress; // of the capture, when it was recorded
  bool recorded = false;
  bool timing = true;
  std::optional<SharedTime> shared;
  Known known; // what is over when it is reached
};

int64_t time_of(const Event& event);

Event* create_event(bool timing);
bool destroy_event(Event* event);
bool is_event(const void* handle);
void record_event(Event& event, Stream& stream);
void block_on_event(const Event& event, Stream& stream);
// The running capture that the default stream would depend on, which no capture permits; nullptr where the stream may wait.
Capture* captured_for_default_stream(const Event& event, const Stream& stream);

// As nodes of the capture that the stream takes part in: each launch records the event, or waits for it, on its own stream.
void record_event_at_launch(Event& event, Stream& stream);
void block_on_event_at_launch(Event& event, Stream& stream);

} // namespace musart
#pragma GCC visibility pop
