#include "waiting.h"

#include "memcheck.h"

#include <algorithm>

namespace musart {

void make_ready(Block& block, Thread& thread) {
  thread.wait = Wait::Nothing;
  const size_t size = block.ready.size();
  size_t at = block.ready_first + block.ready_count++;
  block.ready[at < size ? at : at - size] = &thread;
}

void wait(RunningLaunch& d, Wait what, const char* place, int line) {
  auto& thread = *d.thread;
  thread.wait = what;
  thread.place = place;
  thread.line = line;
  switch_stacks(&d.fiber->stack_pointer, d.scheduler);
}

void finish_barrier(Block& block) {
  memcheck::barrier();
  block.votes = {block.predicates, block.arrived};
  block.arrived = 0;
  block.predicates = 0;
  for (auto& warp : block.warps) {
    warp.barrier_file = nullptr;
  }
  for (auto& thread : block.threads) {
    if (thread.wait == Wait::Barrier) {
      make_ready(block, thread);
    }
  }
}

void let_go(RunningLaunch& d, Thread& thread) {
  if (thread.round != nullptr && --thread.round->readers == 0) {
    d.unused.push_back(thread.round);
  }
  thread.round = nullptr;
}

Round& open_round(RunningLaunch& d, Warp& warp, unsigned mask, const char* what) {
  if (d.unused.empty()) {
    d.rounds.push_back(std::make_unique<Round>());
    d.unused.push_back(d.rounds.back().get());
  }
  auto* round = d.unused.back();
  d.unused.pop_back();
  round->shared.lanes = 0;
  round->mask = mask;
  round->readers = 0;
  round->what = what;
  warp.open.push_back(round);
  return *round;
}

bool is_complete(const Warp& warp, const Round& round) {
  return (round.mask & warp.alive & ~round.shared.lanes) == 0;
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

Round* find_round(Warp& warp, unsigned mask) {
  for (auto* round : warp.open) {
    if (round->mask == mask) {
      return round;
    }
  }
  return nullptr;
}

} // namespace musart
