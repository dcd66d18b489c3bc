#include "checked_memory.h"

#include "../ground/environment.h"

#include <cstring>
#include <map>
#include <mutex>

namespace musart::memcheck {
namespace {

struct Region {
  size_t size = 0;
  bool live = true;
};

struct Regions {
  std::mutex mutex;
  std::map<Address, Region> all;
};
Regions& regions() {
  static auto* one = new Regions();
  return *one;
}

Place past(const char* where, size_t distance, size_t size) {
  return {Where::Outside, bytes_text(distance) + " " + where + " an allocation of " + bytes_text(size)};
}

} // namespace

std::string bytes_text(size_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

Place place_of(Address address, size_t bytes) {
  auto& known = regions();
  const std::lock_guard<std::mutex> lock(known.mutex);
  const auto next = known.all.upper_bound(address);
  if (next != known.all.begin()) {
    const auto& [start, region] = *std::prev(next);
    const Address end = start + region.size;
    if (address < end && !region.live) return {Where::Freed, "memory that was freed, " + bytes_text(address - start) + " into an allocation of " + bytes_text(region.size)};
    if (address + bytes <= end) return {Where::Inside, {}};
    if (address < end + kRedZone) return past("past the end of", address + bytes - end, region.size);
  }
  if (next != known.all.end() && next->second.live && next->first - address <= 256) return past("before", next->first - address, next->second.size);
  return {};
}

bool enabled() noexcept {
  static const bool wanted = read_flag("MUSASIM_MEMCHECK");
  return wanted;
}

void use(void* address, size_t bytes) {
  if (!enabled() || address == nullptr) return;
  auto& known = regions();
  const auto start = reinterpret_cast<Address>(address);
  const std::lock_guard<std::mutex> lock(known.mutex);
  auto at = known.all.lower_bound(start);
  if (at != known.all.begin() && std::prev(at)->first + std::prev(at)->second.size > start) --at;
  while (at != known.all.end() && at->first < start + bytes) at = known.all.erase(at);
  known.all[start] = {bytes, true};
  std::memset(address, kPoison, bytes);
}

void give_up(void* address) {
  if (!enabled()) return;
  auto& known = regions();
  const std::lock_guard<std::mutex> lock(known.mutex);
  const auto at = known.all.find(reinterpret_cast<Address>(address));
  if (at != known.all.end()) at->second.live = false;
}

} // namespace musart::memcheck
