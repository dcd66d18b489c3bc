/* The order of streams, for the simulated libraries that compute on the host's processor. */
#pragma once

#include <functional>
#include <utility>

#include "musa_runtime_api.h"

namespace musasim {

struct DeviceWork {
  DeviceWork() { musasim_begin_device_work(); }
  ~DeviceWork() { musasim_end_device_work(); }
};

/* Does the work in a stream: at once, or as a node of the graph that the stream is being captured into. */
inline musaError_t in_stream(musaStream_t stream, std::function<void()> work) {
  musaStreamCaptureStatus status = musaStreamCaptureStatusNone;
  if (const auto error = musaStreamIsCapturing(stream, &status)) return error;
  /* A graph may be launched for as long as the process lives. */
  auto* const kept = new std::function<void()>(std::move(work));
  const auto run = [](void* data) {
    const DeviceWork here;
    (*static_cast<std::function<void()>*>(data))();
  };
  const auto error = musaLaunchHostFunc(stream, run, kept);
  if (status == musaStreamCaptureStatusNone) delete kept;
  return error;
}

} // namespace musasim
