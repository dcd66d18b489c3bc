#include "api.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
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

Stream* stream_of(musaStream_t handle) {
  const bool special = handle == nullptr || handle == musaStreamLegacy || handle == musaStreamPerThread;
  return special ? &default_stream(current_device()) : find_stream(handle);
}

musaError_t enter_stream(musaStream_t handle, Stream** stream) {
  if (const auto error = enter()) {
    return error;
  }
  *stream = stream_of(handle);
  if (*stream == nullptr) {
    return musaErrorInvalidResourceHandle;
  }
  if (auto* capture = (*stream)->capture.load()) {
    capture->invalidated = true;
    return musaErrorStreamCaptureUnsupported;
  }
  return musaSuccess;
}

} // namespace musart

using namespace musart;

musaError_t musaStreamCreate(musaStream_t* stream) {
  return musaStreamCreateWithPriority(stream, musaStreamDefault, 0);
}

musaError_t musaStreamCreateWithFlags(musaStream_t* stream, unsigned int flags) {
  return musaStreamCreateWithPriority(stream, flags, 0);
}

musaError_t musaStreamCreateWithPriority(musaStream_t* stream, unsigned int flags, int priority) {
  if (stream == nullptr || flags > musaStreamNonBlocking) {
    return remember(musaErrorInvalidValue);
  }
  if (const auto error = enter()) {
    return remember(error);
  }
  auto* made = create_stream(current_device(), priority, flags == musaStreamDefault);
  *stream = reinterpret_cast<musaStream_t>(made);
  return musaSuccess;
}

musaError_t musaStreamDestroy(musaStream_t stream) {
  if (const auto error = enter()) {
    return remember(error);
  }
  return remember(destroy_stream(stream) ? musaSuccess : musaErrorInvalidResourceHandle);
}

musaError_t musaStreamSynchronize(musaStream_t handle) {
  Stream* stream = nullptr;
  if (const auto error = enter_stream(handle, &stream)) {
    return remember(error);
  }
  wait_until(stream->busy_until.load());
  return musaSuccess;
}

musaError_t musaStreamQuery(musaStream_t handle) {
  Stream* stream = nullptr;
  if (const auto error = enter_stream(handle, &stream)) {
    return remember(error);
  }
  return remember(stream->busy_until.load() <= now_ns() ? musaSuccess : musaErrorNotReady);
}

musaError_t musaStreamWaitEvent(musaStream_t handle, musaEvent_t event, unsigned int flags) {
  if (const auto error = enter()) {
    return remember(error);
  }
  auto* stream = stream_of(handle);
  if (stream == nullptr || !is_event(event)) {
    return remember(musaErrorInvalidResourceHandle);
  }
  if (flags > 1) {
    return remember(musaErrorInvalidValue);
  }
  block_on_event(*reinterpret_cast<Event*>(event), *stream);
  return musaSuccess;
}

musaError_t musaStreamGetPriority(musaStream_t handle, int* priority) {
  const auto* stream = stream_of(handle);
  if (stream == nullptr) {
    return remember(musaErrorInvalidResourceHandle);
  }
  if (priority == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  *priority = stream->priority;
  return musaSuccess;
}

musaError_t musaStreamGetFlags(musaStream_t handle, unsigned int* flags) {
  const auto* stream = stream_of(handle);
  if (stream == nullptr) {
    return remember(musaErrorInvalidResourceHandle);
  }
  if (flags == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  *flags = stream->blocking ? musaStreamDefault : musaStreamNonBlocking;
  return musaSuccess;
}

musaError_t musaStreamIsCapturing(musaStream_t handle, musaStreamCaptureStatus* status) {
  const auto* stream = stream_of(handle);
  if (stream == nullptr) {
    return remember(musaErrorInvalidResourceHandle);
  }
  if (status == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  const auto* capture = stream->capture.load();
  *status = capture == nullptr ? musaStreamCaptureStatusNone
      : capture->invalidated   ? musaStreamCaptureStatusInvalidated
                               : musaStreamCaptureStatusActive;
  return musaSuccess;
}
