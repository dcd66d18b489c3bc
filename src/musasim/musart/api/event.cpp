#include "../driver/event.h"
#include "gate.h"
#include "stream.h"

namespace musart {
namespace {

// An event that a capture has recorded has no time.
musaError_t check_event(musaEvent_t handle) {
  if (const auto error = enter()) {
    return error;
  }
  if (!is_event(handle)) {
    return musaErrorInvalidResourceHandle;
  }
  auto* capture = reinterpret_cast<Event*>(handle)->capture;
  if (capture != nullptr && is_running(capture)) {
    capture->invalidated = true;
    return musaErrorCapturedEvent;
  }
  return musaSuccess;
}

} // namespace
} // namespace musart

using namespace musart;

musaError_t musaEventCreate(musaEvent_t* event) {
  return musaEventCreateWithFlags(event, musaEventDefault);
}

musaError_t musaEventCreateWithFlags(musaEvent_t* event, unsigned int flags) {
  constexpr unsigned int kKnown = musaEventBlockingSync | musaEventDisableTiming | musaEventInterprocess;
  const bool timing = (flags & musaEventDisableTiming) == 0;
  if (event == nullptr || (flags & ~kKnown) != 0 || ((flags & musaEventInterprocess) != 0 && timing)) {
    return remember(musaErrorInvalidValue);
  }
  if (const auto error = enter()) {
    return remember(error);
  }
  *event = reinterpret_cast<musaEvent_t>(create_event(timing));
  return musaSuccess;
}

musaError_t musaEventDestroy(musaEvent_t event) {
  if (const auto error = enter()) {
    return remember(error);
  }
  return remember(destroy_event(reinterpret_cast<Event*>(event)) ? musaSuccess : musaErrorInvalidResourceHandle);
}

musaError_t musaEventRecord(musaEvent_t event, musaStream_t handle) {
  if (const auto error = enter()) {
    return remember(error);
  }
  auto* stream = stream_of(handle);
  if (stream == nullptr || !is_event(event)) {
    return remember(musaErrorInvalidResourceHandle);
  }
  record_event(*reinterpret_cast<Event*>(event), *stream);
  return musaSuccess;
}

musaError_t musaEventRecordWithFlags(musaEvent_t event, musaStream_t stream, unsigned int flags) {
  return flags > 1 ? remember(musaErrorInvalidValue) : musaEventRecord(event, stream);
}

musaError_t musaEventSynchronize(musaEvent_t event) {
  if (const auto error = check_event(event)) {
    return remember(error);
  }
  wait_until(time_of(*reinterpret_cast<Event*>(event)));
  return musaSuccess;
}

musaError_t musaEventQuery(musaEvent_t event) {
  if (const auto error = check_event(event)) {
    return remember(error);
  }
  const bool done = time_of(*reinterpret_cast<Event*>(event)) <= now_ns();
  return remember(done ? musaSuccess : musaErrorNotReady);
}

musaError_t musaEventElapsedTime(float* milliseconds, musaEvent_t begin, musaEvent_t end) {
  if (milliseconds == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  for (const auto& event : {begin, end}) {
    if (const auto error = check_event(event)) {
      return remember(error);
    }
  }
  const auto& first = *reinterpret_cast<Event*>(begin);
  const auto& second = *reinterpret_cast<Event*>(end);
  if (!first.timing || !second.timing || !first.recorded || !second.recorded) {
    return remember(musaErrorInvalidResourceHandle);
  }
  if (time_of(first) > now_ns() || time_of(second) > now_ns()) {
    return remember(musaErrorNotReady);
  }
  *milliseconds = static_cast<float>(static_cast<double>(time_of(second) - time_of(first)) / 1e6);
  return musaSuccess;
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
  if (auto* capture = captured_for_default_stream(*reinterpret_cast<Event*>(event), *stream)) {
    capture->invalidated = true;
    return remember(musaErrorStreamCaptureImplicit);
  }
  block_on_event(*reinterpret_cast<Event*>(event), *stream);
  return musaSuccess;
}
