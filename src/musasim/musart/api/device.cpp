#include "../driver/device.h"
#include "../driver/elsewhere.h"
#include "../driver/memory.h"
#include "../driver/memory_pool.h"
#include "../driver/stream.h"
#include "../driver/streamcheck.h"
#include "gate.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

namespace musart {
namespace {

std::mutex g_peers_mutex;

std::set<std::pair<int, int>>& peers() {
  static auto* enabled = new std::set<std::pair<int, int>>();
  return *enabled;
}

std::atomic<size_t> g_limits[] = {{1024}, {1 << 20}, {8 << 20}};

} // namespace
} // namespace musart

using namespace musart;

musaError_t musaGetDeviceCount(int* count) {
  if (count == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  const auto error = enter_to_queue();
  *count = error == musaSuccess ? device_count() : 0;
  return remember(error);
}

musaError_t musaSetDevice(int device) {
  if (const auto error = enter_to_queue()) {
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
  if (const auto error = enter_to_queue()) {
    return remember(error);
  }
  *device = current_device();
  return musaSuccess;
}

musaError_t musaDeviceSynchronize(void) {
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  wait_for_device(current_device());
  streamcheck::host_waited_for_device(current_device());
  trim_after_wait(current_device());
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
  wait_for_device(device);
  streamcheck::host_waited_for_device(device);
  release_all(device, Owner::Program);
  reset_pools(device);
  const std::lock_guard<std::mutex> lock(g_peers_mutex);
  auto& all = peers();
  for (auto it = all.begin(); it != all.end();) {
    it = it->first == device ? all.erase(it) : std::next(it);
  }
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

musaError_t musaDeviceGetP2PAttribute(int* value, musaDeviceP2PAttr attribute, int device, int peer) {
  if (value == nullptr || attribute < musaDevP2PAttrPerformanceRank ||
      attribute > musaDevP2PAttrMusaArrayAccessSupported) {
    return remember(musaErrorInvalidValue);
  }
  if (const auto error = enter()) {
    return remember(error);
  }
  if (!is_device(device) || !is_device(peer) || device == peer) {
    return remember(musaErrorInvalidDevice);
  }
  // All links are equal, and every device reads, writes and counts in the memory of each other one.
  *value = attribute == musaDevP2PAttrPerformanceRank ? 0 : 1;
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
