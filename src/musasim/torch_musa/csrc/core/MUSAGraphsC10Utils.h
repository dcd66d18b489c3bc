#pragma once

#include <ostream>

#include "torch_musa/csrc/core/MUSAException.h"
#include "torch_musa/csrc/core/MUSAStream.h"

namespace c10::musa {

enum class CaptureStatus : int {
  None = static_cast<int>(musaStreamCaptureStatusNone),
  Active = static_cast<int>(musaStreamCaptureStatusActive),
  Invalidated = static_cast<int>(musaStreamCaptureStatusInvalidated),
};

inline std::ostream& operator<<(std::ostream& stream, CaptureStatus status) {
  constexpr const char* names[] = {"musaStreamCaptureStatusNone", "musaStreamCaptureStatusActive", "musaStreamCaptureStatusInvalidated"};
  return stream << names[static_cast<int>(status)];
}

// Of the current stream.
inline CaptureStatus currentStreamCaptureStatusMayInitCtx() {
  musaStreamCaptureStatus status = musaStreamCaptureStatusNone;
  C10_MUSA_CHECK(musaStreamIsCapturing(getCurrentMUSAStream(), &status));
  return static_cast<CaptureStatus>(status);
}

} // namespace c10::musa
