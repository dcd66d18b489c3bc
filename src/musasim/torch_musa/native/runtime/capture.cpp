#include "capture.h"

#include "launches.h"

#include <c10/util/Exception.h>

namespace musasim {
namespace {

// All of the driver's captures in PyTorch begin here, so the cast is safe.
Capture* as_ours(musart::Capture* capture) {
  return static_cast<Capture*>(capture);
}

bool none_is_running() {
  return C10_LIKELY(musart::running_captures.load(std::memory_order_relaxed) == 0);
}

[[noreturn]] void refuse(musart::Capture& capture, const char* what) {
  capture.invalidated = true;
  raise_musa_error(what);
}

constexpr const char* kNotPermitted = "operation not permitted when stream is capturing";

} // namespace

void Capture::add(std::string name, std::function<void()> run) {
  musart::Capture::add(std::move(name), std::move(run), stream_state(current_stream(-1)));
}

void Capture::add_at_once(std::string name, std::function<void()> run) {
  musart::Capture::add({std::move(name), std::move(run), nullptr, /*at_once=*/true}, stream_state(current_stream(-1)));
}

bool Capture::has_unjoined_work() const {
  return musart::Capture::has_unjoined_work(stream_state(origin));
}

void Capture::save(const c10::Storage& storage) {
  if (fresh.count(storage.data()) == 0) {
    before_write(storage);
  }
}

void Capture::note_place(const void* data) {
  if (const auto found = musart::find_allocation(data)) { // not for the memory of a program's own allocator
    places.insert(found->base);
  }
}

// Later work of the capture may get this memory and write to it, which on a device happens only when the graph is replayed.
void Capture::keep_contents(void* address, size_t bytes) {
  if (fresh.count(address) == 0) {
    const musart::DeviceWork work;
    const auto* data = static_cast<const char*>(address);
    given_up.emplace_back(address, std::vector<char>(data, data + bytes));
  }
}

void begin_capture(Capture& capture) {
  finish_launches();
  TORCH_CHECK(
      musart::begin_capture(capture, stream_state(capture.origin)),
      "MUSA error: operation not permitted when stream is capturing");
}

void finish_capture(Capture& capture) {
  musart::finish_capture(capture, stream_state(capture.origin));
}

Capture* active_capture() {
  return none_is_running() ? nullptr : as_ours(stream_state(current_stream(-1)).capture.load());
}

bool is_capturing(c10::Stream stream) {
  return !none_is_running() && stream_state(stream).capture.load() != nullptr;
}

void refuse_during_capture(c10::Stream stream) {
  if (none_is_running()) {
    return;
  }
  if (auto* capture = stream_state(stream).capture.load()) {
    refuse(*capture, kNotPermitted);
  }
}

void refuse_during_any_capture(c10::DeviceIndex device) {
  if (none_is_running()) {
    return;
  }
  if (auto* capture = musart::forbidding_capture()) {
    refuse(*capture, kNotPermitted);
  }
  refuse_during_capture(current_stream(device));
}

void refuse_event_of_capture(const EventState& event) {
  if (none_is_running() || event.capture == nullptr) {
    return;
  }
  if (musart::is_running(event.capture)) {
    refuse(*event.capture, "operation not permitted on an event last recorded in a capturing stream");
  }
}

void refuse_wait_of_default_stream(const EventState& event, c10::Stream stream) {
  if (none_is_running()) {
    return;
  }
  if (auto* capture = musart::captured_for_default_stream(event, stream_state(stream))) {
    refuse(*capture, "operation would make the legacy stream depend on a capturing blocking stream");
  }
}

void refuse_host_access() {
  if (auto* capture = active_capture()) {
    refuse(*capture, kNotPermitted);
  }
}

// The allocator requests memory in relaxed mode if its own stream is being captured, and in the normal mode otherwise.
void refuse_device_allocation(c10::DeviceIndex device) {
  if (none_is_running() || is_capturing(current_stream(device))) {
    return;
  }
  if (auto* capture = musart::forbidding_capture()) {
    refuse(*capture, kNotPermitted);
  }
}

void assert_not_capturing(const char* attempt) {
  TORCH_CHECK(
      active_capture() == nullptr,
      attempt,
      " during MUSA graph capture. If you need this call to be captured, please file an issue. "
      "Current musaStreamCaptureStatus: musaStreamCaptureStatusActive");
}

} // namespace musasim
