#include "replay_memory.h"

#include <c10/util/Exception.h>

#include <cstdlib>
#include <mutex>
#include <unordered_map>

namespace musasim {
namespace {

thread_local AllocationPlan* t_noted = nullptr;
thread_local FollowAllocations* t_followed = nullptr;

constexpr size_t kAlignment = 64;
constexpr size_t kKept = size_t{256} << 20;

size_t rounded(size_t bytes) {
  return (bytes + 511) / 512 * 512;
}

struct Scratch {
  std::mutex mutex;
  std::unordered_map<size_t, std::vector<void*>> free;
  size_t kept = 0;
};

Scratch& scratch() {
  static auto* all = new Scratch();
  return *all;
}

} // namespace

NoteAllocations::NoteAllocations(AllocationPlan& into) : previous_(t_noted) {
  t_noted = &into;
}

NoteAllocations::~NoteAllocations() {
  t_noted = previous_;
}

void note_allocation(size_t bytes, void* address) {
  if (C10_UNLIKELY(t_noted != nullptr)) {
    t_noted->push_back({bytes, address});
  }
}

FollowAllocations::FollowAllocations(const AllocationPlan& plan) : plan_(plan), previous_(t_followed) {
  t_followed = this;
}

FollowAllocations::~FollowAllocations() {
  t_followed = previous_;
}

void* FollowAllocations::next(size_t bytes) {
  if (at_ >= plan_.size() || plan_[at_].bytes != bytes) {
    at_ = plan_.size(); // the order differs from the recording's, so later allocations cannot be matched
    return nullptr;
  }
  return plan_[at_++].address;
}

FollowAllocations* followed_plan() noexcept {
  return t_followed;
}

void* take_scratch(size_t bytes) {
  const size_t size = rounded(bytes);
  auto& all = scratch();
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    auto& ready = all.free[size];
    if (!ready.empty()) {
      void* address = ready.back();
      ready.pop_back();
      all.kept -= size;
      return address;
    }
  }
  void* address = std::aligned_alloc(kAlignment, size);
  TORCH_CHECK(address != nullptr, "musasim: the host has no ", size, " bytes left for the replay of a graph");
  return address;
}

void give_scratch(void* address, size_t bytes) {
  const size_t size = rounded(bytes);
  auto& all = scratch();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.kept + size > kKept) {
    std::free(address);
    return;
  }
  all.kept += size;
  all.free[size].push_back(address);
}

} // namespace musasim
