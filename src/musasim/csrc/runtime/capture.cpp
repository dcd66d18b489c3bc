#include "capture.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <mutex>
#include <thread>

namespace musasim {
namespace {

struct Running {
  Capture* capture;
  std::thread::id thread;
};

std::atomic<int> g_running{0};
std::mutex g_mutex;

std::vector<Running>& running() {
  static auto* all = new std::vector<Running>();
  return *all;
}

[[noreturn]] void refuse(Capture& capture, const char* what) {
  capture.invalidated = true;
  raise_musa_error(what);
}

StreamKey key_of(c10::Stream stream) {
  return {stream.device_index(), stream.id()};
}

void merge(Progress& into, const Progress& other) {
  for (const auto& [stream, count] : other) {
    into[stream] = std::max(into[stream], count);
  }
}

constexpr const char* kNotPermitted = "operation not permitted when stream is capturing";

// In "global" mode an unsafe call from any thread spoils the capture, in "thread_local" only one from its own thread.
Capture* forbidding_capture() {
  std::lock_guard<std::mutex> lock(g_mutex);
  for (const auto& entry : running()) {
    const bool mine = entry.thread == std::this_thread::get_id();
    if (entry.capture->mode == CaptureMode::Global || (entry.capture->mode == CaptureMode::ThreadLocal && mine)) {
      return entry.capture;
    }
  }
  return nullptr;
}

} // namespace

void Capture::add(std::string name, std::function<void()> run) {
  nodes.push_back({std::move(name), std::move(run)});
  const auto key = key_of(current_stream(-1));
  reached[key][key] = nodes.size();
}

bool Capture::has_unjoined_work() const {
  const auto known = reached.find(key_of(origin));
  for (const auto& [stream, progress] : reached) {
    const auto own = progress.find(stream);
    if (own == progress.end() || stream == key_of(origin)) {
      continue;
    }
    const bool joined = known != reached.end() && known->second.count(stream) != 0 &&
        known->second.at(stream) >= own->second;
    if (!joined) {
      return true;
    }
  }
  return false;
}

void begin_capture(Capture& capture) {
  auto& state = stream_state(capture.origin);
  Capture* none = nullptr;
  TORCH_CHECK(
      state.capture.compare_exchange_strong(none, &capture),
      "MUSA error: operation not permitted when stream is capturing");
  std::lock_guard<std::mutex> lock(g_mutex);
  running().push_back({&capture, std::this_thread::get_id()});
  ++g_running;
}

void finish_capture(Capture& capture) {
  stream_state(capture.origin).capture = nullptr;
  for (const auto& stream : capture.joined) {
    stream_state(stream).capture = nullptr;
  }
  std::lock_guard<std::mutex> lock(g_mutex);
  auto& all = running();
  all.erase(
      std::remove_if(all.begin(), all.end(), [&](const Running& entry) { return entry.capture == &capture; }),
      all.end());
  g_running = static_cast<int>(all.size());
}

Capture* active_capture() {
  if (C10_LIKELY(g_running.load(std::memory_order_relaxed) == 0)) {
    return nullptr;
  }
  return stream_state(current_stream(-1)).capture.load();
}

bool is_capturing(c10::Stream stream) {
  return g_running.load(std::memory_order_relaxed) != 0 && stream_state(stream).capture.load() != nullptr;
}

Progress progress_of(c10::Stream stream) {
  if (C10_LIKELY(g_running.load(std::memory_order_relaxed) == 0)) {
    return {};
  }
  const auto* capture = stream_state(stream).capture.load();
  return capture == nullptr || capture->reached.count(key_of(stream)) == 0 ? Progress{}
                                                                           : capture->reached.at(key_of(stream));
}

void join_capture(const EventState& event, c10::Stream stream) {
  auto* capture = event.capture;
  auto& state = stream_state(stream);
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto& all = running();
  const bool alive = std::any_of(all.begin(), all.end(), [&](const Running& e) { return e.capture == capture; });
  if (alive && state.capture.load() == nullptr) {
    state.capture = capture;
    capture->joined.push_back(stream);
  }
  if (alive && state.capture.load() == capture) {
    merge(capture->reached[key_of(stream)], event.progress);
  }
}

void refuse_during_capture(c10::Stream stream) {
  if (C10_LIKELY(g_running.load(std::memory_order_relaxed) == 0)) {
    return;
  }
  if (auto* capture = stream_state(stream).capture.load()) {
    refuse(*capture, kNotPermitted);
  }
}

void refuse_during_any_capture(c10::DeviceIndex device) {
  if (C10_LIKELY(g_running.load(std::memory_order_relaxed) == 0)) {
    return;
  }
  if (auto* capture = forbidding_capture()) {
    refuse(*capture, kNotPermitted);
  }
  refuse_during_capture(current_stream(device));
}

void refuse_event_of_capture(const EventState& event) {
  if (C10_LIKELY(g_running.load(std::memory_order_relaxed) == 0) || event.capture == nullptr) {
    return;
  }
  bool alive = false;
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    const auto& all = running();
    alive = std::any_of(all.begin(), all.end(), [&](const Running& e) { return e.capture == event.capture; });
  }
  if (alive) {
    refuse(*event.capture, "operation not permitted on an event last recorded in a capturing stream");
  }
}

void refuse_host_access() {
  if (auto* capture = active_capture()) {
    refuse(*capture, kNotPermitted);
  }
}

// The allocator asks the driver for memory in relaxed mode where its own stream is captured, and plainly elsewhere.
void refuse_device_allocation(c10::DeviceIndex device) {
  if (C10_LIKELY(g_running.load(std::memory_order_relaxed) == 0) || is_capturing(current_stream(device))) {
    return;
  }
  if (auto* capture = forbidding_capture()) {
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
