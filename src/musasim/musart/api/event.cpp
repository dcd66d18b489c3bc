#include "../driver/event.h"
#include "../driver/memory_pool.h"
#include "../driver/streamcheck.h"
#include "gate.h"
#include "stream.h"

namespace musart {
namespace {

constexpr unsigned int kExternal = 1; // a captured record or wait of the event becomes a node of the graph

musaError_t enter_event(musaEvent_t event, musaStream_t handle, unsigned int flags, Stream** stream) {
  if (const auto error = enter_to_queue()) {
    return error;
  }
  *stream = stream_of(handle);
  if (*stream == nullptr || !is_event(event)) {
    return musaErrorInvalidResourceHandle;
  }
  return flags > kExternal ? musaErrorInvalidValue : musaSuccess;
}

// An event that a capture has recorded has no time.
musaError_t check_event(musaEvent_t handle) {
  if (const auto error = enter_to_queue()) {
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
  if (const auto error = enter_to_queue()) {
    return remember(error);
  }
  *event = reinterpret_cast<musaEvent_t>(create_event(timing));
  return musaSuccess;
}

musaError_t musaEventDestroy(musaEvent_t event) {
  if (const auto error = enter_to_queue()) {
    return remember(error);
  }
  return remember(destroy_event(reinterpret_cast<Event*>(event)) ? musaSuccess : musaErrorInvalidResourceHandle);
}

musaError_t musaEventRecord(musaEvent_t event, musaStream_t stream) {
  return musaEventRecordWithFlags(event, stream, 0);
}

musaError_t musaEventRecordWithFlags(musaEvent_t event, musaStream_t handle, unsigned int flags) {
  Stream* stream = nullptr;
  if (const auto error = enter_event(event, handle, flags, &stream)) {
    return remember(error);
  }
  const bool as_node = flags == kExternal && stream->capture.load() != nullptr;
  (as_node ? record_event_at_launch : record_event)(*reinterpret_cast<Event*>(event), *stream);
  return musaSuccess;
}

musaError_t musaEventSynchronize(musaEvent_t event) {
  if (const auto error = check_event(event)) {
    return remember(error);
  }
  wait_until(time_of(*reinterpret_cast<Event*>(event)));
  streamcheck::host_waited_for(*reinterpret_cast<Event*>(event));
  trim_after_wait(reinterpret_cast<Event*>(event)->device);
  return musaSuccess;
}

musaError_t musaEventQuery(musaEvent_t event) {
  if (const auto error = check_event(event)) {
    return remember(error);
  }
  const bool done = time_of(*reinterpret_cast<Event*>(event)) <= now_ns();
  if (!done) {
    return remember(musaErrorNotReady);
  }
  streamcheck::host_waited_for(*reinterpret_cast<Event*>(event));
  return musaSuccess;
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
  streamcheck::host_waited_for(first);
  streamcheck::host_waited_for(second);
  *milliseconds = static_cast<float>(static_cast<double>(time_of(second) - time_of(first)) / 1e6);
  return musaSuccess;
}

musaError_t musaStreamWaitEvent(musaStream_t handle, musaEvent_t event, unsigned int flags) {
  Stream* stream = nullptr;
  if (const auto error = enter_event(event, handle, flags, &stream)) {
    return remember(error);
  }
  auto& state = *reinterpret_cast<Event*>(event);
  if (auto* capture = captured_for_default_stream(state, *stream)) {
    capture->invalidated = true;
    return remember(musaErrorStreamCaptureImplicit);
  }
  if (flags == kExternal && stream->capture.load() != nullptr) {
    block_on_event_at_launch(state, *stream);
  } else {
    block_on_event(state, *stream);
  }
  return musaSuccess;
}
