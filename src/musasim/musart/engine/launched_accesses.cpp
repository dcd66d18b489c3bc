#include "launched_accesses.h"

#include "../driver/memory.h"
#include "running.h"

#include <bitset>
#include <unordered_map>

namespace musart::streamcheck {
namespace {

constexpr uintptr_t kGranule = 512; // tensors begin at multiples of this
constexpr Kind kKinds[] = {Kind::Read, Kind::Write, Kind::Atomic};

struct Granule {
  std::bitset<kGranule> bytes[3]; // by kind
  const void* caller[3] = {}; // the first one
};

std::unordered_map<uintptr_t, Granule>& granules() {
  static auto* all = new std::unordered_map<uintptr_t, Granule>();
  return *all;
}

void add_runs(uintptr_t begin, const Granule& granule, Kind kind, std::vector<Access>& accesses) {
  const auto& bytes = granule.bytes[static_cast<int>(kind)];
  for (size_t at = 0; at < kGranule; ++at) {
    const size_t first = at;
    while (at < kGranule && bytes[at]) ++at;
    const auto* from = reinterpret_cast<const void*>(begin + first);
    if (at != first) accesses.push_back({from, at - first, kind, false, granule.caller[static_cast<int>(kind)]});
  }
}

// What a thread has written it may read: for other streams, that is one access.
void forget_own(Granule& granule) {
  auto& [reads, writes, atomics] = granule.bytes;
  reads &= ~(writes | atomics);
  atomics &= ~writes;
}

std::vector<Access> taken() {
  std::vector<Access> accesses;
  for (auto& [begin, granule] : granules()) {
    if (!find_allocation(reinterpret_cast<const void*>(begin))) continue;
    forget_own(granule);
    for (const Kind kind : kKinds) add_runs(begin, granule, kind, accesses);
  }
  granules().clear();
  return accesses;
}

} // namespace

void note(const void* address, size_t bytes, Kind kind, const void* caller) {
  if (is_on_stack(address) || is_shared(address)) return;
  const auto from = reinterpret_cast<uintptr_t>(address);
  for (uintptr_t at = from; at < from + bytes; ++at) {
    auto& granule = granules()[at / kGranule * kGranule];
    granule.bytes[static_cast<int>(kind)].set(at % kGranule);
    if (granule.caller[static_cast<int>(kind)] == nullptr) granule.caller[static_cast<int>(kind)] = caller;
  }
}

void end_of_launch(Stream* stream, const char* kernel) {
  if (!enabled()) return;
  const auto accesses = taken();
  if (stream != nullptr) did(*stream, kernel, accesses);
}

} // namespace musart::streamcheck
