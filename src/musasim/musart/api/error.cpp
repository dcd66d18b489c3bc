#include "../driver/device.h"
#include "../ground/last_error.h"
#include "../include/musa_runtime_api.h"

namespace musart {
namespace {

struct Text {
  musaError_t code;
  const char* name;
  const char* text;
};

#define ENTRY(name, text) Text{name, #name, text}
constexpr Text kTexts[] = {
    ENTRY(musaSuccess, "no error"),
    ENTRY(musaErrorInvalidValue, "invalid argument"),
    ENTRY(musaErrorMemoryAllocation, "out of memory"),
    ENTRY(musaErrorInitializationError, "initialization error"),
    ENTRY(musaErrorInvalidConfiguration, "invalid configuration argument"),
    ENTRY(musaErrorInvalidPitchValue, "invalid pitch argument"),
    ENTRY(musaErrorInvalidSymbol, "invalid device symbol"),
    ENTRY(musaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ENTRY(musaErrorMissingConfiguration, "__global__ function call is not configured"),
    ENTRY(musaErrorInvalidDeviceFunction, "invalid device function"),
    ENTRY(musaErrorNoDevice, "no MUSA-capable device is detected"),
    ENTRY(musaErrorInvalidDevice, "invalid device ordinal"),
    ENTRY(musaErrorDeviceUninitialized, "invalid device context"),
    ENTRY(musaErrorMapBufferObjectFailed, "mapping of buffer object failed"),
    ENTRY(musaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    ENTRY(musaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    ENTRY(musaErrorInvalidResourceHandle, "invalid resource handle"),
    ENTRY(musaErrorIllegalState, "the operation cannot be performed in the present state"),
    ENTRY(musaErrorNotReady, "device not ready"),
    ENTRY(musaErrorIllegalAddress, "an illegal memory access was encountered"),
    ENTRY(musaErrorLaunchOutOfResources, "too many resources requested for launch"),
    ENTRY(musaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    ENTRY(musaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    ENTRY(musaErrorAssert, "device-side assert triggered"),
    ENTRY(musaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    ENTRY(musaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    ENTRY(musaErrorLaunchFailure, "unspecified launch failure"),
    ENTRY(musaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    ENTRY(musaErrorNotPermitted, "operation not permitted"),
    ENTRY(musaErrorNotSupported, "operation not supported"),
    ENTRY(musaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    ENTRY(musaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    ENTRY(musaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    ENTRY(musaErrorStreamCaptureImplicit, "operation would make the legacy stream depend on a capturing blocking stream"),
    ENTRY(musaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    ENTRY(musaErrorUnknown, "unknown error"),
};

#undef ENTRY

const Text* find_text(musaError_t code) {
  for (const auto& entry : kTexts) {
    if (entry.code == code) {
      return &entry;
    }
  }
  return nullptr;
}

constexpr const char* kUnrecognized = "unrecognized error code";

} // namespace
} // namespace musart

using namespace musart;

const char* musaGetErrorString(musaError_t error) {
  const auto* found = find_text(error);
  return found == nullptr ? kUnrecognized : found->text;
}

const char* musaGetErrorName(musaError_t error) {
  const auto* found = find_text(error);
  return found == nullptr ? kUnrecognized : found->name;
}

// The error of a failed kernel stays.
musaError_t musaGetLastError(void) {
  const auto last = musaPeekAtLastError();
  forget_last_error();
  return last;
}

musaError_t musaPeekAtLastError(void) {
  const auto fault = static_cast<musaError_t>(device_fault(current_device()));
  return fault == musaSuccess ? last_error() : fault;
}
