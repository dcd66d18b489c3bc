// Threads that wait: for the block's barrier, for lanes of their warp, or because they let others run. What is inline here runs
// at each barrier.
#pragma once

#include "running.h"

namespace musart {

inline void make_ready(Block& block, Thread& thread) {
  thread.wait = Wait::Nothing;
  const size_t size = block.ready.size();
  size_t at = block.ready_first + block.ready_count++;
  block.ready[at < size ? at : at - size] = &thread;
}

// Of the running thread, until it is made ready.
inline void wait(RunningLaunch& d, Wait what, const char* place, int line) {
  auto& thread = *d.thread;
  thread.wait = what;
  thread.place = place;
  thread.line = line;
  switch_stacks(&d.fiber->stack_pointer, d.scheduler);
}

void finish_barrier(Block& block);

inline bool is_complete(const Warp& warp, const Round& round) {
  return (round.mask & warp.alive & ~round.shared.lanes) == 0;
}

// Rounds, in which lanes of a warp give each other values.
Round& open_round(RunningLaunch& d, Warp& warp, unsigned mask, const char* what);
Round* find_round(Warp& warp, unsigned mask);
void close_round(RunningLaunch& d, Warp& warp, Round& round);
void let_go(RunningLaunch& d, Thread& thread); // of the round that it was in last

} // namespace musart
