#include "stream.h"

#include "device.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace musart {
namespace {

struct Streams {
  std::shared_mutex mutex;
  std::map<const void*, bool> known; // by address; true if it was created here, and so has to be destroyed here
};

Streams& streams() {
  static auto* all = new Streams();
  return *all;
}

} // namespace

int64_t now_ns() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void wait_until(int64_t when_ns) {
  const auto ahead = when_ns - now_ns();
  if (ahead > 0) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(ahead));
  }
}

int64_t completion_ns(const Stream& stream) {
  return std::max(now_ns(), stream.busy_until.load());
}

void wait_for(Stream& stream, int64_t when_ns) {
  auto current = stream.busy_until.load();
  while (current < when_ns && !stream.busy_until.compare_exchange_weak(current, when_ns)) {
  }
}

Stream& default_stream(int device) {
  static auto* all = [] {
    auto* made = new std::array<Stream, kMaxDevices>();
    for (int index = 0; index < kMaxDevices; ++index) {
      (*made)[index].device = index;
      (*made)[index].blocking = true;
    }
    return made;
  }();
  return (*all)[device];
}

Stream* create_stream(int device, int priority, bool blocking) {
  auto* stream = new Stream();
  stream->device = device;
  stream->priority = std::clamp(priority, kHighestPriority, 0);
  stream->blocking = blocking;
  const std::unique_lock<std::shared_mutex> lock(streams().mutex);
  streams().known[stream] = true;
  return stream;
}

void enlist(Stream& stream) {
  const std::unique_lock<std::shared_mutex> lock(streams().mutex);
  streams().known.emplace(&stream, false);
}

Stream* find_stream(const void* handle) {
  const std::shared_lock<std::shared_mutex> lock(streams().mutex);
  const bool known = streams().known.count(handle) != 0;
  return known ? static_cast<Stream*>(const_cast<void*>(handle)) : nullptr;
}

bool destroy_stream(const void* handle) {
  const std::unique_lock<std::shared_mutex> lock(streams().mutex);
  const auto found = streams().known.find(handle);
  if (found == streams().known.end() || !found->second) {
    return false;
  }
  // The clock itself stays, because a thread may be waiting for it.
  streams().known.erase(found);
  return true;
}

int64_t last_completion(int device, bool blocking_only) {
  int64_t last = default_stream(device).busy_until.load();
  const std::shared_lock<std::shared_mutex> lock(streams().mutex);
  for (const auto& [address, created] : streams().known) {
    const auto* stream = static_cast<const Stream*>(address);
    if (stream->device == device && (stream->blocking || !blocking_only)) {
      last = std::max(last, stream->busy_until.load());
    }
  }
  return last;
}

} // namespace musart
