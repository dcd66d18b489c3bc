#include "device.h"

#include "../ground/environment.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <vector>

namespace musart {
namespace {

constexpr size_t kDefaultMemory = size_t{16} << 30;

thread_local int t_device = 0;
bool g_bad_fork = false;
std::atomic<int> g_fault[kMaxDevices];

// A device mask lists ids. The first entry that names no device ends the list, as in the CUDA driver.
std::vector<int> visible(const char* mask, int physical) {
  std::vector<int> seen;
  const char* at = mask;
  while (*at != '\0') {
    char* end = nullptr;
    const long id = std::strtol(at, &end, 10);
    if (end == at || id < 0 || id >= physical) {
      break;
    }
    if (std::find(seen.begin(), seen.end(), id) != seen.end()) {
      return {}; // the CUDA driver refuses a mask that names a device twice
    }
    seen.push_back(static_cast<int>(id));
    while (*end == ' ') {
      ++end;
    }
    if (*end != ',') {
      break;
    }
    at = end + 1;
  }
  return seen;
}

std::vector<int> find_devices() {
  const auto physical = static_cast<int>(read_number("MUSASIM_DEVICE_COUNT", 2, 0, kMaxDevices));
  if (const char* mask = std::getenv("MUSA_VISIBLE_DEVICES")) {
    return visible(mask, physical);
  }
  std::vector<int> all(static_cast<size_t>(physical));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

const std::vector<int>& devices() {
  static const auto* found = new std::vector<int>(find_devices());
  return *found;
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

int device_count() noexcept {
  return static_cast<int>(devices().size());
}

int physical_device(int device) {
  return devices().at(static_cast<size_t>(device));
}

const DeviceProperties& device_properties() {
  static const auto* properties = new DeviceProperties(read_properties());
  return *properties;
}

int current_device() noexcept {
  return t_device;
}

void set_current_device(int device) noexcept {
  t_device = device;
}

int device_fault(int device) noexcept {
  return g_fault[device].load(std::memory_order_relaxed);
}

void fail_device(int device, int error) noexcept {
  g_fault[device] = error;
}

void arm_fork_guard() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, mark_bad_fork); });
}

bool in_bad_fork() noexcept {
  return g_bad_fork;
}

} // namespace musart
