#include "stream.h"

#include "../driver/capture.h"
#include "../driver/device.h"
#include "../driver/memory_pool.h"
#include "../driver/streamcheck.h"
#include "gate.h"

namespace musart {

Stream* stream_of(musaStream_t handle) {
  const bool special = handle == nullptr || handle == musaStreamLegacy || handle == musaStreamPerThread;
  return special ? &default_stream(current_device()) : find_stream(handle);
}

musaError_t enter_stream(musaStream_t handle, Stream** stream) {
  if (const auto error = enter_to_queue()) {
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
  if (const auto error = enter_to_queue()) {
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
  streamcheck::host_waited_for(*stream);
  trim_after_wait(stream->device);
  return musaSuccess;
}

musaError_t musaStreamQuery(musaStream_t handle) {
  Stream* stream = nullptr;
  if (const auto error = enter_stream(handle, &stream)) {
    return remember(error);
  }
  if (stream->busy_until.load() > now_ns()) {
    return remember(musaErrorNotReady);
  }
  streamcheck::host_waited_for(*stream);
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
