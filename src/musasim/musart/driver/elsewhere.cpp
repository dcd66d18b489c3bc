#include "elsewhere.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace musart {
namespace {

struct Unfinished {
  int device;
  std::function<void()> until_over;
};

struct Elsewhere {
  std::mutex mutex;
  uint64_t begun = 0;
  std::map<uint64_t, Unfinished> unfinished;
};

Elsewhere& elsewhere() {
  static auto* one = new Elsewhere();
  return *one;
}

std::vector<std::function<void()>> waits_of(int device) {
  std::vector<std::function<void()>> waits;
  const std::lock_guard<std::mutex> lock(elsewhere().mutex);
  for (const auto& [work, unfinished] : elsewhere().unfinished) {
    if (unfinished.device == device) {
      waits.push_back(unfinished.until_over);
    }
  }
  return waits;
}

} // namespace

uint64_t begin_elsewhere(int device, std::function<void()> until_over) {
  const std::lock_guard<std::mutex> lock(elsewhere().mutex);
  const auto work = ++elsewhere().begun;
  elsewhere().unfinished.emplace(work, Unfinished{device, std::move(until_over)});
  return work;
}

void end_elsewhere(uint64_t work) {
  const std::lock_guard<std::mutex> lock(elsewhere().mutex);
  elsewhere().unfinished.erase(work);
}

void wait_for_device(int device) {
  wait_until(last_completion(device, /*blocking_only=*/false));
  for (const auto& until_over : waits_of(device)) {
    until_over();
  }
}

} // namespace musart
