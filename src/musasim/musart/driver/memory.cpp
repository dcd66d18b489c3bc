#include "memory.h"

#include "checked_memory.h"
#include "device.h"
#include "pages.h"
#include "protected_memory.h"
#include "postponed.h"
#include "streamcheck.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>

namespace musart {
namespace {

std::atomic<uint64_t> g_releases{0};

// Every piece of device memory of the process, by address, and the total on each device.
struct Memory {
  std::mutex mutex;
  std::map<const char*, Allocation> allocations;
  std::array<size_t, kMaxDevices> used{};
};

Memory& memory() {
  static auto* all = new Memory();
  return *all;
}

size_t whole_pages(size_t bytes) {
  const size_t wanted = bytes + (memcheck::enabled() ? memcheck::kRedZone : 0);
  return (wanted + kPage - 1) / kPage * kPage;
}

// What programs can have of a device: the driver keeps a part for itself, as the context of each program takes on a device.
size_t usable_memory() {
  const size_t total = device_properties().total_memory;
  return total - total / 256;
}

bool fits(const Memory& all, int device, size_t bytes) {
  return bytes <= usable_memory() && all.used[device] + bytes <= usable_memory();
}

// Memory that the program itself maps has the access that the program permits.
bool is_closed_to_host(const Allocation& allocation) {
  return !allocation.managed && (allocation.reserved_in == nullptr || allocation.reserved_in->device >= 0);
}

void permit_host(int access) {
  auto& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (const auto& [base, allocation] : all.allocations) {
    if (is_closed_to_host(allocation)) {
      mprotect(allocation.base, allocation.reserved_in != nullptr ? allocation.size : whole_pages(allocation.size), access);
    }
  }
}

std::optional<Allocation> allocation_at(const Memory& all, const void* pointer) {
  const auto* address = static_cast<const char*>(pointer);
  auto after = all.allocations.upper_bound(address);
  if (after == all.allocations.begin()) {
    return std::nullopt;
  }
  const auto& candidate = std::prev(after)->second;
  return address < candidate.base + candidate.size ? std::make_optional(candidate) : std::nullopt;
}

std::optional<MemoryPlace> find_place(const char* address) {
  auto& all = memory();
  const std::unique_lock<std::mutex> lock(all.mutex, std::try_to_lock);
  const auto in = lock.owns_lock() ? allocation_at(all, address) : std::nullopt;
  return in ? std::make_optional(MemoryPlace{in->base, in->size, in->device, in->owner == Owner::Framework}) : std::nullopt;
}

[[maybe_unused]] const bool is_registered = (memory_table = {&permit_host, &find_place}, true);

using Position = std::map<const char*, Allocation>::iterator;

void give_back(Memory& all, Position at) {
  const auto allocation = at->second;
  all.allocations.erase(at);
  g_releases.fetch_add(1, std::memory_order_relaxed);
  memcheck::give_up(allocation.base);
  streamcheck::forget(allocation.base, allocation.size);
  if (allocation.owner != Owner::Pool) {
    all.used[allocation.device] -= whole_pages(allocation.size);
  }
  munmap(allocation.base, whole_pages(allocation.size));
  if (allocation.shared >= 0) {
    close(allocation.shared);
  }
}

bool can_be_shared(const Allocation& allocation) {
  return allocation.owner != Owner::Imported && allocation.owner != Owner::Pool && allocation.reserved_in == nullptr;
}

bool move_to_file(const Allocation& allocation, int file) {
  const size_t bytes = whole_pages(allocation.size);
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0 || !copy_touched_pages(allocation.base, bytes, file, 0)) {
    return false;
  }
  const int flags = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
  return mmap(allocation.base, bytes, PROT_READ | PROT_WRITE, flags, file, 0) != MAP_FAILED;
}

} // namespace

void* allocate(int device, size_t bytes, Owner owner) {
  const DeviceWork work;
  auto& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const bool is_counted = owner == Owner::Pool;
  if (bytes > usable_memory() || (!is_counted && !fits(all, device, whole_pages(bytes)))) {
    return nullptr;
  }
  // The host commits pages on first use, so a nominal 16 GiB device costs nothing until it is used.
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* base = mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE, flags, -1, 0);
  if (base == MAP_FAILED) {
    return nullptr;
  }
  all.used[device] += is_counted ? 0 : whole_pages(bytes);
  auto* address = static_cast<char*>(base);
  all.allocations[address] = Allocation{address, bytes, device, owner};
  if (owner != Owner::Framework) {
    memcheck::use(base, bytes); // of PyTorch's memory, its caching allocator says who uses what
  }
  return base;
}

bool mark_managed(void* base) {
  const DeviceWork work;
  auto& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.allocations.find(static_cast<const char*>(base));
  if (found == all.allocations.end()) {
    return false;
  }
  found->second.managed = true;
  return true;
}

bool is_managed(const void* pointer) {
  const auto found = find_allocation(pointer);
  return found && found->managed;
}

bool release(void* base, Owner owner) {
  postponed::finish();
  auto& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.allocations.find(static_cast<const char*>(base));
  if (found == all.allocations.end() || found->second.owner != owner) {
    return false;
  }
  give_back(all, found);
  return true;
}

uint64_t releases() noexcept {
  return g_releases.load(std::memory_order_relaxed);
}

void release_all(int device, Owner owner) {
  postponed::finish();
  auto& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (auto it = all.allocations.begin(); it != all.allocations.end();) {
    const auto at = it++;
    if (at->second.device == device && at->second.owner == owner) {
      give_back(all, at);
    }
  }
}

std::optional<Allocation> find_allocation(const void* pointer) {
  auto& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return allocation_at(all, pointer);
}

std::pair<size_t, size_t> memory_info(int device) {
  auto& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const size_t usable = usable_memory();
  return {usable - std::min(usable, all.used[device]), device_properties().total_memory};
}

int share(const Allocation& allocation) {
  const DeviceWork work;
  auto& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.allocations.find(allocation.base);
  if (found == all.allocations.end() || !can_be_shared(found->second)) {
    return -1;
  }
  int& file = found->second.shared;
  if (file < 0) {
    const int made = memfd_create("musart", MFD_CLOEXEC);
    if (made >= 0 && move_to_file(found->second, made)) {
      file = made;
    } else if (made >= 0) {
      close(made);
    }
  }
  return file;
}

bool take_memory(int device, size_t bytes) {
  auto& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const bool has_room = fits(all, device, bytes);
  all.used[device] += has_room ? bytes : 0;
  return has_room;
}

void give_memory_back(int device, size_t bytes) {
  auto& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.used[device] -= bytes;
}

void add_piece(const Reservation& in, char* address, size_t bytes, int device) {
  auto& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  Allocation piece{address, bytes, device, Owner::Framework};
  piece.reserved_in = &in;
  const auto continues = [&](const Allocation& other) { return other.reserved_in == &in && other.device == device; };
  const auto after = all.allocations.find(address + bytes);
  if (after != all.allocations.end() && continues(after->second)) {
    piece.size += after->second.size;
    all.allocations.erase(after);
  }
  const auto next = all.allocations.lower_bound(address);
  auto* before = next == all.allocations.begin() ? nullptr : &std::prev(next)->second;
  if (before != nullptr && continues(*before) && before->base + before->size == address) {
    before->size += piece.size;
  } else {
    all.allocations[address] = piece;
  }
}

void remove_piece(char* address, size_t bytes) {
  auto& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = std::prev(all.allocations.upper_bound(address));
  const Allocation whole = found->second;
  all.allocations.erase(found);
  Allocation left = whole, right = whole;
  left.size = static_cast<size_t>(address - whole.base);
  right.base = address + bytes;
  right.size = whole.size - left.size - bytes;
  for (const auto& rest : {left, right}) {
    if (rest.size != 0) {
      all.allocations[rest.base] = rest;
    }
  }
  g_releases.fetch_add(1, std::memory_order_relaxed);
  streamcheck::forget(address, bytes);
}

std::vector<Allocation> pieces_of(const Reservation& in) {
  auto& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::vector<Allocation> found;
  for (auto it = all.allocations.lower_bound(in.base); it != all.allocations.end() && it->first < in.base + in.size; ++it) {
    found.push_back(it->second);
  }
  return found;
}

void add_import(const Allocation& allocation) {
  const DeviceWork work;
  auto& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.allocations[allocation.base] = allocation;
}

bool remove_import(char* base, size_t* size) {
  auto& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.allocations.find(base);
  if (found == all.allocations.end() || found->second.owner != Owner::Imported) {
    return false;
  }
  *size = whole_pages(found->second.size);
  all.allocations.erase(found);
  return true;
}

} // namespace musart
