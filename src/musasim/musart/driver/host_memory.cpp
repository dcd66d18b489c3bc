#include "host_memory.h"

#include <cstdlib>
#include <iterator>
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
