#include "waiting.h"

#include "divergence.h"
#include "memcheck.h"
#include "seed.h"

#include <algorithm>

namespace musart {

void finish_barrier(Block& block) {
  memcheck::check_barrier(block);
  memcheck::barrier();
  block.votes = {block.predicates, block.arrived};
  block.arrived = 0;
  block.predicates = 0;
  for (auto& warp : block.warps) {
    warp.barrier_file = nullptr;
  }
  if (is_seeded()) shuffle_threads(block.order);
  for (const unsigned number : block.order) {
    auto& thread = block.threads[number];
    if (thread.wait == Wait::Barrier) {
      make_ready(block, thread);
    }
  }
}

Round& open_round(RunningLaunch& d, Warp& warp, unsigned mask, const char* what) {
  if (d.unused == nullptr) {
    d.rounds.push_back(std::make_unique<Round>());
    d.unused = d.rounds.back().get();
  }
  auto* round = d.unused;
  d.unused = round->next_unused;
  round->shared.lanes = round->shared.votes = 0;
  round->mask = mask;
  round->readers = 0;
  round->what = what;
  warp.open.push_back(round);
  return *round;
}

void close_round(RunningLaunch& d, Warp& warp, Round& round) {
  memcheck::warp_round(static_cast<unsigned>(&warp - d.block->warps.data()));
  warp.open.erase(std::find(warp.open.begin(), warp.open.end(), &round));
  auto* first = &d.block->threads[static_cast<size_t>(&warp - d.block->warps.data()) * kWarp];
  for (unsigned lanes = round.shared.lanes; lanes != 0; lanes &= lanes - 1) {
    auto& thread = first[__builtin_ctz(lanes)];
    if (thread.wait == Wait::Exchange && thread.round == &round) {
      make_ready(*d.block, thread);
    }
  }
}

} // namespace musart
