#include "api.h"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

namespace musart {
namespace {

constexpr size_t kDefaultMemory = size_t{16} << 30;

thread_local int t_device = 0;
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
    std::fprintf(stderr, "musasim: %s=%s is not a number that musasim understands; using %lld\n", name, text, fallback);
    return fallback;
  }
  return value;
}

namespace {

// A device mask lists ids. The first entry that names no device ends the list, as in the CUDA driver.
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

std::mutex g_peers_mutex;

std::set<std::pair<int, int>>& peers() {
  static auto* enabled = new std::set<std::pair<int, int>>();
  return *enabled;
}

// Figures without a counterpart in the properties are invented, and equal on every device.
int attribute_value(int attribute, int device) {
  const auto& properties = device_properties();
  switch (attribute) {
    case musaDevAttrMaxThreadsPerBlock:
    case musaDevAttrMaxBlockDimX:
    case musaDevAttrMaxBlockDimY:
      return 1024;
    case musaDevAttrMaxBlockDimZ:
      return 64;
    case musaDevAttrMaxGridDimX:
    case musaDevAttrMaxPitch:
      return 0x7fffffff;
    case musaDevAttrMaxGridDimY:
    case musaDevAttrMaxGridDimZ:
      return 65535;
    case musaDevAttrMaxSharedMemoryPerBlock:
      return 48 << 10;
    case musaDevAttrMaxSharedMemoryPerBlockOptin:
    case musaDevAttrMaxSharedMemoryPerMultiprocessor:
      return 192 << 10;
    case musaDevAttrTotalConstantMemory:
    case musaDevAttrMaxRegistersPerBlock:
    case musaDevAttrMaxRegistersPerMultiprocessor:
      return 64 << 10;
    case musaDevAttrWarpSize:
      return 32;
    case musaDevAttrClockRate:
      return 1750000;
    case musaDevAttrMemoryClockRate:
      return 2000000;
    case musaDevAttrGlobalMemoryBusWidth:
      return 1024;
    case musaDevAttrL2CacheSize:
      return 32 << 20;
    case musaDevAttrMaxThreadsPerMultiProcessor:
      return 2048;
    case musaDevAttrMultiProcessorCount:
      return properties.multi_processor_count;
    case musaDevAttrIntegrated:
      return properties.is_integrated ? 1 : 0;
    case musaDevAttrIsMultiGpuBoard:
      return properties.is_multi_gpu_board ? 1 : 0;
    case musaDevAttrComputeCapabilityMajor:
      return properties.major;
    case musaDevAttrComputeCapabilityMinor:
      return properties.minor;
    case musaDevAttrPciBusId:
      return device + 1;
    case musaDevAttrMaxBlocksPerMultiprocessor:
      return 32;
    case musaDevAttrAsyncEngineCount:
      return 2;
    case musaDevAttrConcurrentKernels:
    case musaDevAttrManagedMemory:
    case musaDevAttrConcurrentManagedAccess:
    case musaDevAttrCooperativeLaunch:
    case musaDevAttrCanMapHostMemory:
    case musaDevAttrUnifiedAddressing:
    case musaDevAttrStreamPrioritiesSupported:
    case musaDevAttrHostRegisterSupported:
    case musaDevAttrMemoryPoolsSupported:
      return 1;
    default:
      return 0;
  }
}

} // namespace

int device_count() noexcept {
  static const int count = count_devices();
  return count;
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

void arm_fork_guard() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, mark_bad_fork); });
}

bool in_bad_fork() noexcept {
  return g_bad_fork;
}

} // namespace musart

using namespace musart;

musaError_t musaGetDeviceCount(int* count) {
  if (count == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  const auto error = enter();
  *count = error == musaSuccess ? device_count() : 0;
  return remember(error);
}

musaError_t musaSetDevice(int device) {
  if (const auto error = enter()) {
    return remember(error);
  }
  if (!is_device(device)) {
    return remember(musaErrorInvalidDevice);
  }
  set_current_device(device);
  return musaSuccess;
}

musaError_t musaGetDevice(int* device) {
  if (device == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  if (const auto error = enter()) {
    return remember(error);
  }
  *device = current_device();
  return musaSuccess;
}

musaError_t musaDeviceSynchronize(void) {
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  wait_until(last_completion(current_device(), false));
  std::fflush(stdout); // from here on, the kernels' output is visible
  return musaSuccess;
}

// Frees what the program has allocated through this API. PyTorch's memory stays. A device would free it too, and leave every
// tensor dangling.
musaError_t musaDeviceReset(void) {
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  const int device = current_device();
  wait_until(last_completion(device, false));
  release_all(device, Owner::Program);
  const std::lock_guard<std::mutex> lock(g_peers_mutex);
  auto& all = peers();
  for (auto it = all.begin(); it != all.end();) {
    it = it->first == device ? all.erase(it) : std::next(it);
  }
  return musaSuccess;
}

musaError_t musaDeviceGetAttribute(int* value, musaDeviceAttr attribute, int device) {
  const auto number = static_cast<int>(attribute);
  if (value == nullptr || number < 1 || number >= musaDevAttrMax) {
    return remember(musaErrorInvalidValue);
  }
  if (const auto error = enter()) {
    return remember(error);
  }
  if (!is_device(device)) {
    return remember(musaErrorInvalidDevice);
  }
  *value = attribute_value(number, device);
  return musaSuccess;
}

musaError_t musaDeviceGetPCIBusId(char* text, int length, int device) {
  constexpr int kLength = 13; // "0000:01:00.0" and its end
  if (text == nullptr || length < kLength) {
    return remember(musaErrorInvalidValue);
  }
  if (const auto error = enter()) {
    return remember(error);
  }
  if (!is_device(device)) {
    return remember(musaErrorInvalidDevice);
  }
  std::snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", static_cast<unsigned>(device + 1) & 0xff);
  return musaSuccess;
}

musaError_t musaDeviceGetByPCIBusId(int* device, const char* text) {
  if (device == nullptr || text == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  if (const auto error = enter()) {
    return remember(error);
  }
  for (int index = 0; index < device_count(); ++index) {
    char own[16];
    musaDeviceGetPCIBusId(own, sizeof(own), index);
    // The domain may be omitted.
    if (std::strcmp(text, own) == 0 || std::strcmp(text, own + 5) == 0) {
      *device = index;
      return musaSuccess;
    }
  }
  return remember(musaErrorInvalidDevice);
}

musaError_t musaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) {
    *least = 0;
  }
  if (greatest != nullptr) {
    *greatest = kHighestPriority;
  }
  return musaSuccess;
}

musaError_t musaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  if (const auto error = enter()) {
    return remember(error);
  }
  if (!is_device(device) || !is_device(peer)) {
    return remember(musaErrorInvalidDevice);
  }
  *can = device == peer ? 0 : 1;
  return musaSuccess;
}

musaError_t musaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  if (const auto error = enter()) {
    return remember(error);
  }
  if (flags != 0) {
    return remember(musaErrorInvalidValue);
  }
  if (!is_device(peer) || peer == current_device()) {
    return remember(musaErrorInvalidDevice);
  }
  const std::lock_guard<std::mutex> lock(g_peers_mutex);
  const bool added = peers().emplace(current_device(), peer).second;
  return remember(added ? musaSuccess : musaErrorPeerAccessAlreadyEnabled);
}

musaError_t musaDeviceDisablePeerAccess(int peer) {
  if (const auto error = enter()) {
    return remember(error);
  }
  if (!is_device(peer)) {
    return remember(musaErrorInvalidDevice);
  }
  const std::lock_guard<std::mutex> lock(g_peers_mutex);
  const bool removed = peers().erase({current_device(), peer}) == 1;
  return remember(removed ? musaSuccess : musaErrorPeerAccessNotEnabled);
}

musaError_t musaRuntimeGetVersion(int* version) {
  if (version == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  *version = MUSART_VERSION;
  return musaSuccess;
}

musaError_t musaDriverGetVersion(int* version) {
  return musaRuntimeGetVersion(version);
}

// There is no profiler to start. Without one, CUDA's calls succeed and do nothing too.
musaError_t musaProfilerStart(void) {
  return remember(enter());
}

musaError_t musaProfilerStop(void) {
  return remember(enter());
}

namespace {

std::atomic<size_t> g_limits[] = {{1024}, {1 << 20}, {8 << 20}};

} // namespace

// Kernels use the stack, the output and the heap of the process, whatever the limit.
musaError_t musaDeviceSetLimit(musaLimit limit, size_t value) {
  if (const auto error = enter()) {
    return remember(error);
  }
  const auto number = static_cast<size_t>(limit);
  if (number >= std::size(g_limits)) {
    return remember(musaErrorInvalidValue);
  }
  g_limits[number] = value;
  return musaSuccess;
}

musaError_t musaDeviceGetLimit(size_t* value, musaLimit limit) {
  const auto number = static_cast<size_t>(limit);
  if (value == nullptr || number >= std::size(g_limits)) {
    return remember(musaErrorInvalidValue);
  }
  *value = g_limits[number];
  return musaSuccess;
}

musaError_t musaSetDeviceFlags(unsigned int) {
  return remember(enter());
}

musaError_t musaGetDeviceFlags(unsigned int* flags) {
  if (flags == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  *flags = musaDeviceMapHost;
  return remember(enter());
}

musaError_t musaDeviceSetCacheConfig(musaFuncCache) {
  return remember(enter());
}

musaError_t musaDeviceSetSharedMemConfig(musaSharedMemConfig) {
  return remember(enter());
}
