#pragma once

#include <optional>
#include <ostream>
#include <utility>

#include "torch_musa/csrc/core/MUSAException.h"
#include "torch_musa/csrc/core/MUSAStream.h"

namespace c10::musa {

using CaptureId_t = unsigned long long;
// A pool of memory for graphs: the first number is set in pools that a capture has made, the second in those of a program.
using MempoolId_t = std::pair<CaptureId_t, CaptureId_t>;

// Whether a capture refuses calls of other threads that it cannot record, for as long as this exists.
struct MUSAStreamCaptureModeGuard {
  explicit MUSAStreamCaptureModeGuard(musaStreamCaptureMode desired) : mode_(desired) {
    C10_MUSA_CHECK(musaThreadExchangeStreamCaptureMode(&mode_));
  }
  MUSAStreamCaptureModeGuard(const MUSAStreamCaptureModeGuard&) = delete;
  MUSAStreamCaptureModeGuard& operator=(const MUSAStreamCaptureModeGuard&) = delete;
  ~MUSAStreamCaptureModeGuard() {
    C10_MUSA_CHECK_WARN(musaThreadExchangeStreamCaptureMode(&mode_));
  }

 private:
  musaStreamCaptureMode mode_;
};

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

// What headers of later PyTorch ask. MUSA's runtime has no function that tells the number of a capture.
inline std::optional<CaptureId_t> currentStreamCaptureIdMayInitCtx() {
  TORCH_CHECK_NOT_IMPLEMENTED(
      currentStreamCaptureStatusMayInitCtx() == CaptureStatus::None, "MUSA does not tell the number of a capture");
  return std::nullopt;
}

} // namespace c10::musa
