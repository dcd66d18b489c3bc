#include "divergence.h"

#include "../driver/checked_memory.h"
#include "findings.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace musart::memcheck {
namespace {

std::string place_of_barrier(const Warp& warp) {
  return std::string(warp.barrier_file) + ":" + std::to_string(warp.barrier_line);
}

bool is_elsewhere(const Warp& warp, const Warp& first) {
  return warp.barrier_file != nullptr &&
         (warp.barrier_line != first.barrier_line || std::strcmp(warp.barrier_file, first.barrier_file) != 0);
}

unsigned a_returned_thread(const Block& block) {
  for (unsigned number = 0; number < block.threads.size(); ++number) {
    if ((block.warps[number / kWarp].alive >> (number % kWarp) & 1) == 0) return number;
  }
  return 0;
}

} // namespace

void check_barrier(const Block& block) {
  if (!enabled()) return;
  const auto& warps = block.warps;
  const auto first = std::find_if(warps.begin(), warps.end(), [](const Warp& warp) { return warp.barrier_file != nullptr; });
  if (first == warps.end()) return;
  const auto warp = static_cast<unsigned>(first - warps.begin());
  const CheckedThread by{block.number, warp * kWarp + static_cast<unsigned>(__builtin_ctz(first->alive)), warp};
  const auto place = place_of_barrier(*first);
  const auto other = std::find_if(first, warps.end(), [&](const Warp& one) { return is_elsewhere(one, *first); });
  if (other != warps.end()) {
    const auto thread = static_cast<unsigned>(other - warps.begin()) * kWarp;
    found_at(by, "divergent barrier", "thread " + thread_text(thread) + " of the block is at another one, " + place_of_barrier(*other), place);
  } else if (block.alive != block.threads.size()) {
    found_at(by, "divergent barrier", "thread " + thread_text(a_returned_thread(block)) + " of the block has returned and does not reach it", place);
  }
}

} // namespace musart::memcheck
