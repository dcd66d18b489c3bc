#include "device.h"

#include "musart/driver/postponed.h"
#include "musart/include/musa_runtime_api.h"

#include <c10/util/Exception.h>

namespace musasim {

c10::DeviceIndex device_count() noexcept {
  return static_cast<c10::DeviceIndex>(musart::device_count());
}

c10::DeviceIndex current_device() noexcept {
  return static_cast<c10::DeviceIndex>(musart::current_device());
}

void raise_musa_error(const std::string& what) {
  TORCH_CHECK(
      false,
      "MUSA error: ",
      what,
      "\nMUSA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
      "incorrect.\nFor debugging consider passing MUSA_LAUNCH_BLOCKING=1\n");
}

void check_postponed() {
  if (C10_UNLIKELY(musart::postponed::has_error.load(std::memory_order_relaxed))) {
    if (const auto error = musart::postponed::take_error()) {
      std::rethrow_exception(error);
    }
  }
}

void check_fault(c10::DeviceIndex index) {
  check_postponed();
  const int fault = musart::device_fault(index);
  if (C10_UNLIKELY(fault != 0)) {
    raise_musa_error(musaGetErrorString(static_cast<musaError_t>(fault)));
  }
}

void check_device(c10::DeviceIndex index) {
  if (C10_UNLIKELY(index < 0 || index >= device_count())) {
    TORCH_CHECK(device_count() > 0, "MUSA error: no MUSA-capable device is detected");
    raise_musa_error("invalid device ordinal");
  }
}

c10::DeviceIndex resolve_device(c10::DeviceIndex index) {
  if (index == -1) {
    index = current_device();
  }
  check_device(index);
  return index;
}

void set_device(c10::DeviceIndex index) {
  refuse_after_fork();
  check_device(index);
  musart::set_current_device(index);
}

void set_device_unchecked(c10::DeviceIndex index) noexcept {
  if (index >= 0) {
    musart::set_current_device(index);
  }
}

c10::DeviceIndex exchange_device(c10::DeviceIndex index) {
  const auto previous = current_device();
  if (previous != index) {
    set_device(index);
  }
  return previous;
}

void refuse_after_fork() {
  TORCH_CHECK(
      !in_bad_fork(),
      "Cannot re-initialize MUSA in forked subprocess. To use MUSA with multiprocessing, you must use the 'spawn' "
      "start method");
}

} // namespace musasim
