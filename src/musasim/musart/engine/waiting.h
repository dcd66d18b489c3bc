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

inline Thread& take_ready(Block& block) {
  auto* thread = block.ready[block.ready_first++];
  if (block.ready_first == block.ready.size()) {
    block.ready_first = 0;
  }
  --block.ready_count;
  return *thread;
}

inline void bind(RunningLaunch& d, Thread& thread) {
  d.thread = &thread;
  if (__builtin_expect(d.threaded, 0)) {
    assign(musasim_own_thread_index, thread.index);
    musasim_own_lane = thread.number % kWarp;
    musasim_own_warp = thread.number / kWarp;
    return;
  }
  assign(musasim_thread_index, thread.index);
  musasim_lane = thread.number % kWarp;
  musasim_warp = thread.number / kWarp;
}

// The fiber that goes on when the running one cannot: a ready thread's, or one that begins a thread. None if the scheduler has to see
// to it.
inline Fiber* next_fiber(RunningLaunch& d) {
  auto& block = *d.block;
  const bool any_new = block.next != block.count;
  if (block.ready_count != 0 && !(block.yielded && any_new)) {
    auto& thread = take_ready(block);
    bind(d, thread);
    return thread.fiber;
  }
  if (!any_new || d.idle.empty()) {
    return nullptr;
  }
  auto* fiber = d.idle.back();
  d.idle.pop_back();
  return fiber;
}

// Lets others run. A switch costs more than anything else that is done here, so there is only one.
inline void go_on(RunningLaunch& d) {
  auto* own = d.fiber;
  d.thread->fiber = own;
  auto* next = next_fiber(d);
  if (next == own) {
    return;
  }
  if (next != nullptr) {
    d.fiber = next;
  }
  switch_stacks(&own->stack_pointer, next == nullptr ? d.scheduler : next->stack_pointer);
}

// Of the running thread, until it is made ready.
inline void wait(RunningLaunch& d, Wait what, const char* place, int line) {
  auto& thread = *d.thread;
  thread.wait = what;
  thread.place = place;
  thread.line = line;
  go_on(d);
}

void finish_barrier(Block& block);

inline bool is_complete(const Warp& warp, const Round& round) {
  return (round.mask & warp.alive & ~round.shared.lanes) == 0;
}

// Rounds, in which lanes of a warp give each other values.
Round& open_round(RunningLaunch& d, Warp& warp, unsigned mask, const char* what);
inline Round* find_round(Warp& warp, unsigned mask) {
  for (auto* round : warp.open) {
    if (round->mask == mask) {
      return round;
    }
  }
  return nullptr;
}
void close_round(RunningLaunch& d, Warp& warp, Round& round);

// Of the round that it was in last.
inline void let_go(RunningLaunch& d, Thread& thread) {
  if (thread.round != nullptr && --thread.round->readers == 0) {
    thread.round->next_unused = d.unused;
    d.unused = thread.round;
  }
  thread.round = nullptr;
}

} // namespace musart
