#include "driver.h"

#include <algorithm>
#include <mutex>
#include <thread>

namespace musart {
namespace {

struct Running {
  Capture* capture;
  std::thread::id thread;
};

std::mutex g_captures_mutex;

std::vector<Running>& running() {
  static auto* all = new std::vector<Running>();
  return *all;
}

bool is_listed(const Capture* capture) {
  const auto& all = running();
  return std::any_of(all.begin(), all.end(), [&](const Running& entry) { return entry.capture == capture; });
}

} // namespace

std::atomic<int> running_captures{0};

bool begin_capture(Capture& capture, Stream& origin) {
  Capture* none = nullptr;
  if (!origin.capture.compare_exchange_strong(none, &capture)) {
    return false;
  }
  const std::lock_guard<std::mutex> lock(g_captures_mutex);
  running().push_back({&capture, std::this_thread::get_id()});
  ++running_captures;
  return true;
}

void finish_capture(Capture& capture, Stream& origin) {
  const std::lock_guard<std::mutex> lock(g_captures_mutex);
  origin.capture = nullptr;
  for (auto* stream : capture.joined) {
    stream->capture = nullptr;
  }
  auto& all = running();
  const auto is_it = [&](const Running& entry) { return entry.capture == &capture; };
  all.erase(std::remove_if(all.begin(), all.end(), is_it), all.end());
  running_captures = static_cast<int>(all.size());
}

bool is_running(const Capture* capture) {
  const std::lock_guard<std::mutex> lock(g_captures_mutex);
  return is_listed(capture);
}

void join_capture(Capture* capture, Stream& stream) {
  const std::lock_guard<std::mutex> lock(g_captures_mutex);
  if (is_listed(capture) && stream.capture.load() == nullptr) {
    stream.capture = capture;
    capture->joined.push_back(&stream);
  }
}

Capture* forbidding_capture() {
  if (running_captures.load(std::memory_order_relaxed) == 0) {
    return nullptr;
  }
  const std::lock_guard<std::mutex> lock(g_captures_mutex);
  for (const auto& entry : running()) {
    const bool mine = entry.thread == std::this_thread::get_id();
    if (entry.capture->mode == CaptureMode::Global || (entry.capture->mode == CaptureMode::ThreadLocal && mine)) {
      return entry.capture;
    }
  }
  return nullptr;
}

} // namespace musart
