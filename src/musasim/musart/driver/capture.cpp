#include "capture.h"

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

void merge(Progress& into, const Progress& other) {
  for (const auto& [stream, count] : other) {
    into[stream] = std::max(into[stream], count);
  }
}

} // namespace

std::atomic<int> running_captures{0};

void Capture::add(Node node, const Stream& stream) {
  nodes.push_back(std::move(node));
  reached[&stream][&stream] = nodes.size();
}

bool Capture::has_unjoined_work(const Stream& origin) const {
  const auto known = reached.find(&origin);
  for (const auto& [stream, progress] : reached) {
    const auto own = progress.find(stream);
    if (own == progress.end() || stream == &origin) {
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

void join_capture(Capture* capture, const Progress& progress, Stream& stream) {
  const std::lock_guard<std::mutex> lock(g_captures_mutex);
  if (!is_listed(capture)) {
    return;
  }
  if (stream.capture.load() == nullptr) {
    stream.capture = capture;
    capture->joined.push_back(&stream);
  }
  if (stream.capture.load() == capture) {
    merge(capture->reached[&stream], progress);
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
