#include "host_memory.h"

#include "postponed.h"
#include "streamcheck.h"

#include <sys/mman.h>

#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
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

// 0 if it was not known.
size_t remove_range(const void* pointer, bool ours) {
  auto& known = host_ranges();
  const std::unique_lock<std::shared_mutex> lock(known.mutex);
  const auto found = known.by_address.find(static_cast<const char*>(pointer));
  if (found == known.by_address.end() || found->second.ours != ours) {
    return 0;
  }
  const size_t size = found->second.size;
  known.by_address.erase(found);
  return size;
}

std::optional<HostRange> range_with(const void* pointer) {
  const auto* address = static_cast<const char*>(pointer);
  auto& known = host_ranges();
  const std::shared_lock<std::shared_mutex> lock(known.mutex);
  const auto after = known.by_address.upper_bound(address);
  if (after == known.by_address.begin()) {
    return std::nullopt;
  }
  const auto& [begin, range] = *std::prev(after);
  return address < begin + range.size ? std::make_optional(range) : std::nullopt;
}

// Pages of its own, which the checker of streams can guard.
void* whole_pages_of_host(size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

void* aligned_to_page(size_t bytes) {
  void* pointer = nullptr;
  return posix_memalign(&pointer, kHostPage, bytes) == 0 ? pointer : nullptr;
}

} // namespace

void* allocate_pinned(size_t bytes) {
  void* pointer = streamcheck::enabled() ? whole_pages_of_host(bytes) : aligned_to_page(bytes);
  if (pointer != nullptr) {
    add_range(pointer, bytes, true);
  }
  return pointer;
}

bool release_pinned(void* pointer) {
  postponed::finish();
  const size_t bytes = remove_range(pointer, true);
  if (bytes != 0 && streamcheck::enabled()) {
    streamcheck::forget(pointer, bytes);
    munmap(pointer, bytes);
  } else if (bytes != 0) {
    std::free(pointer);
  }
  return bytes != 0;
}

bool is_pinned(const void* pointer) {
  return range_with(pointer).has_value();
}

bool owns_pinned(const void* pointer) {
  const auto range = range_with(pointer);
  return range && range->ours;
}

bool register_host_range(const void* pointer, size_t bytes) {
  return add_range(pointer, bytes, false);
}

bool unregister_host_range(const void* pointer) {
  return remove_range(pointer, false) != 0;
}

} // namespace musart
