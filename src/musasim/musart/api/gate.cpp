#include "gate.h"

#include "../driver/capture.h"
#include "../driver/device.h"
#include "../driver/graph_launches.h"
#include "../ground/on_device.h"
#include "../include/musasim/engine.h"

namespace musart {

musaError_t enter() {
  finish_launches();
  return enter_to_launch();
}

musaError_t enter_to_queue() {
  finish_graphs();
  return enter_to_launch();
}

musaError_t enter_to_launch() {
  if (in_bad_fork()) {
    return musaErrorInitializationError;
  }
  if (on_device()) {
    musasim_fault(musaErrorLaunchFailure, "a kernel called a function of the host's runtime");
  }
  arm_fork_guard();
  return device_count() > 0 ? static_cast<musaError_t>(device_fault(current_device())) : musaErrorNoDevice;
}

namespace {

musaError_t unless_forbidden(musaError_t error) {
  if (error == musaSuccess) {
    if (auto* capture = forbidding_capture()) {
      capture->invalidated = true;
      return musaErrorStreamCaptureUnsupported;
    }
  }
  return error;
}

} // namespace

musaError_t enter_unsafe() {
  return unless_forbidden(enter());
}

musaError_t enter_unsafe_to_queue() {
  return unless_forbidden(enter_to_queue());
}

} // namespace musart
