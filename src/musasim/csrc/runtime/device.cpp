#include "device.h"

#include <c10/util/Exception.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace musasim {
namespace {

constexpr size_t kDefaultMemory = size_t{16} << 30;

thread_local c10::DeviceIndex t_device = 0;
bool g_bad_fork = false;

} // namespace

long long read_number(const char* name, long long fallback, long long low) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') {
    return fallback;
  }
  char* end = nullptr;
  const long long value = std::strtoll(text, &end, 10);
  if (*end != '\0' || value < low) {
    TORCH_WARN(name, "=", text, " is not a number that musasim understands; using ", fallback);
    return fallback;
  }
  return value;
}

namespace {

// A device mask lists ids; the first entry that names no device ends the list, as in the CUDA driver.
int count_visible(const char* mask, int physical) {
  std::vector<long> seen;
  const char* at = mask;
  while (*at != '\0') {
    char* end = nullptr;
    const long id = std::strtol(at, &end, 10);
    if (end == at || id < 0 || id >= physical) {
      break;
    }
    if (std::find(seen.begin(), seen.end(), id) != seen.end()) {
      return 0; // the CUDA driver refuses a mask that names a device twice
    }
    seen.push_back(id);
    while (*end == ' ') {
      ++end;
    }
    if (*end != ',') {
      break;
    }
    at = end + 1;
  }
  return static_cast<int>(seen.size());
}

int count_devices() {
  const auto physical = static_cast<int>(std::min<long long>(read_number("MUSASIM_DEVICE_COUNT", 2, 0), kMaxDevices));
  const char* mask = std::getenv("MUSA_VISIBLE_DEVICES");
  return mask == nullptr ? physical : count_visible(mask, physical);
}

DeviceProperties read_properties() {
  DeviceProperties properties;
  properties.total_memory =
      static_cast<size_t>(read_number("MUSASIM_MEMORY_BYTES", static_cast<long long>(kDefaultMemory), 1));
  return properties;
}

void mark_bad_fork() {
  g_bad_fork = true;
}

} // namespace

c10::DeviceIndex device_count() noexcept {
  static const int count = count_devices();
  return static_cast<c10::DeviceIndex>(count);
}

const DeviceProperties& device_properties() {
  static const DeviceProperties properties = read_properties();
  return properties;
}

c10::DeviceIndex current_device() noexcept {
  return t_device;
}

void raise_musa_error(const std::string& what) {
  TORCH_CHECK(
      false,
      "MUSA error: ",
      what,
      "\nMUSA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
      "incorrect.\nFor debugging consider passing MUSA_LAUNCH_BLOCKING=1\n");
}

void check_device(c10::DeviceIndex index) {
  if (C10_UNLIKELY(index < 0 || index >= device_count())) {
    TORCH_CHECK(device_count() > 0, "MUSA error: no MUSA-capable device is detected");
    raise_musa_error("invalid device ordinal");
  }
}

c10::DeviceIndex resolve_device(c10::DeviceIndex index) {
  if (index == -1) {
    index = t_device;
  }
  check_device(index);
  return index;
}

void set_device(c10::DeviceIndex index) {
  refuse_after_fork();
  check_device(index);
  t_device = index;
}

void set_device_unchecked(c10::DeviceIndex index) noexcept {
  if (index >= 0) {
    t_device = index;
  }
}

c10::DeviceIndex exchange_device(c10::DeviceIndex index) {
  const auto previous = t_device;
  if (previous != index) {
    set_device(index);
  }
  return previous;
}

void arm_fork_guard() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, mark_bad_fork); });
}

bool in_bad_fork() noexcept {
  return g_bad_fork;
}

void refuse_after_fork() {
  TORCH_CHECK(
      !g_bad_fork,
      "Cannot re-initialize MUSA in forked subprocess. To use MUSA with multiprocessing, you must use the 'spawn' "
      "start method");
}

} // namespace musasim
