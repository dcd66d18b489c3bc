// Pinned memory is ordinary host memory that is marked as pinned.
#include "api.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace musart {
namespace {

constexpr size_t kHostPage = 4096;

struct HostRange {
  size_t size;
  bool ours; // allocated here, not only registered
};

struct HostRanges {
  std::shared_mutex mutex;
  std::map<const char*, HostRange> by_address;
};

HostRanges& host_ranges() {
  static auto* all = new HostRanges();
  return *all;
}

bool add_range(const void* pointer, size_t bytes, bool ours) {
  const auto* begin = static_cast<const char*>(pointer);
  auto& known = host_ranges();
  const std::unique_lock<std::shared_mutex> lock(known.mutex);
  const auto next = known.by_address.lower_bound(begin);
  if (next != known.by_address.end() && next->first < begin + bytes) {
    return false;
  }
  if (next != known.by_address.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.size > begin) {
      return false;
    }
  }
  known.by_address.emplace(begin, HostRange{bytes, ours});
  return true;
}

bool remove_range(const void* pointer, bool ours) {
  auto& known = host_ranges();
  const std::unique_lock<std::shared_mutex> lock(known.mutex);
  const auto found = known.by_address.find(static_cast<const char*>(pointer));
  if (found == known.by_address.end() || found->second.ours != ours) {
    return false;
  }
  known.by_address.erase(found);
  return true;
}

} // namespace

void* allocate_pinned(size_t bytes) {
  void* pointer = nullptr;
  if (posix_memalign(&pointer, kHostPage, bytes) != 0) {
    return nullptr;
  }
  add_range(pointer, bytes, true);
  return pointer;
}

bool release_pinned(void* pointer) {
  if (!remove_range(pointer, true)) {
    return false;
  }
  std::free(pointer);
  return true;
}

bool is_pinned(const void* pointer) {
  const auto* address = static_cast<const char*>(pointer);
  auto& known = host_ranges();
  const std::shared_lock<std::shared_mutex> lock(known.mutex);
  auto after = known.by_address.upper_bound(address);
  if (after == known.by_address.begin()) {
    return false;
  }
  --after;
  return address < after->first + after->second.size;
}

bool register_host_range(const void* pointer, size_t bytes) {
  return add_range(pointer, bytes, false);
}

bool unregister_host_range(const void* pointer) {
  return remove_range(pointer, false);
}

} // namespace musart

using namespace musart;

musaError_t musaMallocHost(void** pointer, size_t size) {
  if (pointer == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  *pointer = size == 0 ? nullptr : allocate_pinned(size);
  return remember(size == 0 || *pointer != nullptr ? musaSuccess : musaErrorMemoryAllocation);
}

musaError_t musaHostAlloc(void** pointer, size_t size, unsigned int flags) {
  constexpr unsigned int kKnown = 0x7; // portable, mapped, write-combined: all alike here
  return (flags & ~kKnown) != 0 ? remember(musaErrorInvalidValue) : musaMallocHost(pointer, size);
}

musaError_t musaFreeHost(void* pointer) {
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  return remember(pointer == nullptr || release_pinned(pointer) ? musaSuccess : musaErrorInvalidValue);
}

musaError_t musaHostRegister(void* pointer, size_t size, unsigned int flags) {
  constexpr unsigned int kKnown = 0xf; // portable, mapped, of a device, read-only
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  if (pointer == nullptr || size == 0 || (flags & ~kKnown) != 0) {
    return remember(musaErrorInvalidValue);
  }
  return remember(register_host_range(pointer, size) ? musaSuccess : musaErrorHostMemoryAlreadyRegistered);
}

musaError_t musaHostUnregister(void* pointer) {
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  if (pointer == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  return remember(unregister_host_range(pointer) ? musaSuccess : musaErrorHostMemoryNotRegistered);
}

musaError_t musaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
  if (const auto error = enter()) {
    return remember(error);
  }
  if (device == nullptr || flags != 0 || !is_pinned(host)) {
    return remember(musaErrorInvalidValue);
  }
  *device = host;
  return musaSuccess;
}
