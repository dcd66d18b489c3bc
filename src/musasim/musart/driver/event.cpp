#include "event.h"

#include "graph_launches.h"
#include "happens_before.h"
#include "postponed.h"

#include <mutex>
#include <set>

namespace musart {
namespace {

std::mutex g_events_mutex;

std::set<const void*>& events() {
  static auto* all = new std::set<const void*>();
  return *all;
}

// The graph does not keep the event.
template <typename Act>
void add_node(const char* name, Event& event, Stream& stream, Act act) {
  const auto run = [handle = &event, act] {
    if (is_event(handle)) {
      act(*handle, launching_stream());
    }
  };
  stream.capture.load()->add({name, run, nullptr, /*at_once=*/true}, stream);
}

} // namespace

Event* create_event(bool timing) {
  auto* event = new Event();
  event->timing = timing;
  const std::lock_guard<std::mutex> lock(g_events_mutex);
  events().insert(event);
  return event;
}

bool destroy_event(Event* event) {
  {
    const std::lock_guard<std::mutex> lock(g_events_mutex);
    if (events().erase(event) == 0) {
      return false;
    }
  }
  delete event;
  return true;
}

bool is_event(const void* handle) {
  const std::lock_guard<std::mutex> lock(g_events_mutex);
  return events().count(handle) != 0;
}

int64_t time_of(const Event& event) {
  return event.shared ? event.shared->when_ns->load() : event.when_ns;
}

void record_event(Event& event, Stream& stream) {
  event.when_ns = completion_ns(stream);
  if (event.shared) {
    *event.shared->when_ns = event.when_ns;
  }
  event.device = stream.device;
  event.capture = stream.capture.load();
  const auto* capture = event.capture;
  event.progress = capture == nullptr || capture->reached.count(&stream) == 0 ? Progress{} : capture->reached.at(&stream);
  event.recorded = true;
  streamcheck::record_known(event.known, stream);
  if (event.shared && postponed::any()) {
    postponed::run_in(event.known); // another process sees the time alone
  }
}

Capture* captured_for_default_stream(const Event& event, const Stream& stream) {
  const bool is_default = &stream == &default_stream(stream.device);
  return is_default && event.capture != nullptr && is_running(event.capture) ? event.capture : nullptr;
}

void block_on_event(const Event& event, Stream& stream) {
  if (event.capture != nullptr) {
    join_capture(event.capture, event.progress, stream);
  }
  wait_for(stream, time_of(event));
  streamcheck::stream_learns(stream, event.known);
}

void record_event_at_launch(Event& event, Stream& stream) {
  add_node("event record", event, stream, &record_event);
}

void block_on_event_at_launch(Event& event, Stream& stream) {
  add_node("event wait", event, stream, &block_on_event);
}

} // namespace musart
