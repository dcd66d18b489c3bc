// A thread runs until it waits or returns. If it never waits, it costs no switch, because its fiber continues with the next thread.
#include "block.h"

#include "../driver/checked_memory.h"
#include "../ground/on_device.h"
#include "memcheck.h"
#include "os_threads.h"
#include "running.h"
#include "seed.h"
#include "waiting.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <vector>

namespace musart {
namespace {

constexpr size_t kMostWaits = 6; // named in a report

// The lanes of a warp that wait at one place form a group. This is called when no thread can run, so no other lane will arrive.
bool converge(Block& block) {
  bool any = false;
  for (size_t begin = 0; begin < block.threads.size(); begin += kWarp) {
    const auto end = std::min<size_t>(begin + kWarp, block.threads.size());
    for (auto at = begin; at < end; ++at) {
      auto& leader = block.threads[at];
      if (leader.wait != Wait::Converge) {
        continue;
      }
      unsigned lanes = 0;
      for (auto other = at; other < end; ++other) {
        const auto& it = block.threads[other];
        const bool same = it.line == leader.line && it.caller == leader.caller;
        if (it.wait == Wait::Converge && same && std::strcmp(it.place, leader.place) == 0) {
          lanes |= 1U << (other - begin);
        }
      }
      for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
        auto& member = block.threads[begin + static_cast<unsigned>(__builtin_ctz(rest))];
        member.together = lanes;
        make_ready(block, member);
      }
      any = true;
    }
  }
  return any;
}

// --- the end of a thread -----------------------------------------------------------------------------------------------

// Barriers and exchanges wait only for threads that can still arrive.
void finish(RunningLaunch& d, Thread& thread) {
  auto& block = *d.block;
  let_go(d, thread);
  --block.alive;
  auto& warp = block.warps[thread.number / kWarp];
  warp.alive &= ~(1U << (thread.number % kWarp));
  for (size_t at = 0; at < warp.open.size();) {
    auto* round = warp.open[at];
    if (is_complete(warp, *round)) {
      close_round(d, warp, *round);
    } else {
      ++at;
    }
  }
  if (block.arrived != 0 && block.arrived == block.alive) {
    finish_barrier(block);
  }
}

Thread* begin_next(RunningLaunch& d) {
  auto& block = *d.block;
  if ((block.ready_count != 0 && !block.yielded) || block.next == block.count) {
    return nullptr;
  }
  block.yielded = false;
  auto& thread = block.threads[block.order[block.next++]];
  bind(d, thread);
  return &thread;
}

const char* run_thread(RunningLaunch& d) {
  try {
    d.closure->run(d.data);
  } catch (const std::exception& error) {
    static thread_local char text[256];
    std::snprintf(text, sizeof(text), "an exception left the kernel: %s", error.what());
    return text;
  } catch (...) {
    return "an exception left the kernel";
  }
  return nullptr;
}

void worker() {
  auto& d = running_launch();
  for (;;) {
    while (auto* thread = begin_next(d)) {
      if (const char* problem = run_thread(d)) {
        musasim_fault(musaErrorLaunchFailure, problem);
      }
      finish(d, *thread);
    }
    d.idle.push_back(d.fiber);
    go_on(d);
  }
}

// --- the scheduler -----------------------------------------------------------------------------------------------------

bool make_fiber(RunningLaunch& d) {
  auto fiber = std::make_unique<Fiber>();
  if (!prepare(*fiber, worker)) {
    return false;
  }
  d.idle.push_back(fiber.get());
  d.fibers.push_back(std::move(fiber));
  return true;
}

// A text for users that says what the threads wait for: a few of them, one for each place.
std::string describe_waits(const Launch& launch, const Block& block) {
  std::string text;
  std::vector<std::pair<const char*, int>> told;
  for (const auto& thread : block.threads) {
    const auto place = std::make_pair(thread.place, thread.line);
    if (thread.wait == Wait::Nothing || told.size() == kMostWaits ||
        std::find(told.begin(), told.end(), place) != told.end()) {
      continue;
    }
    told.push_back(place);
    text += "\n  thread " + text_of(position(thread.number, launch.block)) + " waits in ";
    text += thread.wait == Wait::Grid ? "a barrier of the grid" : thread.place;
    text += thread.wait == Wait::Barrier ? ":" + std::to_string(thread.line) + " (barrier)" : "";
  }
  return text;
}

void run_fiber(RunningLaunch& d, Fiber& fiber) {
  d.fiber = &fiber;
  switch_stacks(&d.scheduler, fiber.stack_pointer);
}

// Runs until every thread of the block has returned or waits for the other blocks.
void run_block(RunningLaunch& d) {
  auto& block = *d.block;
  while (d.error == musaSuccess && block.alive != 0) {
    if (auto* fiber = next_fiber(d)) {
      run_fiber(d, *fiber);
    } else if (block.next != block.count) {
      if (!make_fiber(d)) {
        d.error = d.launch->cooperative ? musaErrorCooperativeLaunchTooLarge : musaErrorLaunchOutOfResources;
        return;
      }
    } else if (!converge(block)) {
      if (block.at_grid == block.alive) {
        return;
      }
      d.thread = nullptr;
      report("deadlock: no thread of the block can continue" + describe_waits(*d.launch, block));
      d.error = musaErrorLaunchFailure;
    }
  }
}

// What is the same for all blocks of a launch.
void make_threads(const Launch& launch, Block& block) {
  const auto count = static_cast<unsigned>(launch.block.count());
  block.count = count;
  block.threads.assign(count, Thread{});
  for (unsigned number = 0; number < count; ++number) {
    block.threads[number].number = number;
    block.threads[number].index = position(number, launch.block);
  }
  block.warps.resize((count + kWarp - 1) / kWarp);
  block.ready.assign(count, nullptr);
  block.order.resize(count);
  std::iota(block.order.begin(), block.order.end(), 0);
}

// Threads that have returned leave nothing to clear.
void reset(RunningLaunch& d, Block& block, unsigned number_in_grid) {
  block.number = number_in_grid;
  block.index = position(number_in_grid, d.launch->grid);
  if (is_seeded()) shuffle_threads(block.order);
  for (unsigned warp = 0; warp < block.warps.size(); ++warp) {
    const unsigned lanes = std::min(kWarp, block.count - warp * kWarp);
    block.warps[warp].alive = lanes == kWarp ? ~0U : (1U << lanes) - 1;
    block.warps[warp].open.clear();
    block.warps[warp].barrier_file = nullptr;
  }
  block.ready_first = block.ready_count = 0;
  block.next = 0;
  block.alive = block.count;
  block.arrived = block.predicates = block.at_grid = 0;
  block.yielded = false;
  block.serial = ++d.serial;
  block.shared.clear();
}

void enter_block(RunningLaunch& d, Block& block) {
  d.block = &block;
  if (d.threaded) {
    assign(musasim_own_block_index, block.index);
    musasim_own_block_serial = block.serial;
  } else {
    assign(musasim_block_index, block.index);
    musasim_block_serial = block.serial;
  }
  memcheck::enter_block(block.serial, block.number);
}

void run_one_by_one(RunningLaunch& d) {
  auto& block = d.one;
  const size_t count = d.launch->grid.count();
  make_threads(*d.launch, block);
  for (size_t turn = 0; turn < count && d.error == musaSuccess; ++turn) {
    reset(d, block, static_cast<unsigned>(block_of_turn(turn, count)));
    enter_block(d, block);
    if (memcheck::enabled()) {
      std::memset(d.dynamic, 0xff, d.launch->shared); // as static variables, to show what nobody has written
    }
    run_block(d);
  }
}

// What one of several OS threads runs: the blocks in the order of their numbers, so that one may wait for an earlier one.
void run_shared(RunningLaunch& d) {
  const size_t count = d.launch->grid.count();
  make_threads(*d.launch, d.one);
  while (d.error == musaSuccess && d.share->error == musaSuccess) {
    const size_t number = d.share->next++;
    if (number >= count) return;
    reset(d, d.one, static_cast<unsigned>(number));
    enter_block(d, d.one);
    run_block(d);
  }
}

// Shared memory has the same address in all blocks, so it is saved while another block runs.
void put_aside(Block& block, size_t dynamic) {
  for (auto& variable : block.shared) {
    const auto* begin = static_cast<const char*>(variable.address);
    variable.contents.assign(begin, begin + variable.bytes);
  }
  block.dynamic.assign(musasim_dynamic_shared, musasim_dynamic_shared + dynamic);
}

void bring_back(const Block& block) {
  for (const auto& variable : block.shared) {
    std::copy(variable.contents.begin(), variable.contents.end(), static_cast<char*>(variable.address));
  }
  std::copy(block.dynamic.begin(), block.dynamic.end(), musasim_dynamic_shared);
}

void release_grid(std::vector<Block>& blocks) {
  memcheck::grid_barrier();
  for (auto& block : blocks) {
    block.at_grid = 0;
    for (auto& thread : block.threads) {
      if (thread.wait == Wait::Grid) {
        make_ready(block, thread);
      }
    }
  }
}

void run_together(RunningLaunch& d) {
  std::vector<Block> blocks(d.launch->grid.count());
  for (unsigned number = 0; number < blocks.size(); ++number) {
    make_threads(*d.launch, blocks[number]);
    reset(d, blocks[number], number);
  }
  for (bool unfinished = true; unfinished && d.error == musaSuccess;) {
    unfinished = false;
    for (size_t turn = 0; turn < blocks.size(); ++turn) {
      auto& block = blocks[block_of_turn(turn, blocks.size())];
      if (block.alive == 0 || d.error != musaSuccess) {
        continue;
      }
      bring_back(block);
      enter_block(d, block);
      run_block(d);
      put_aside(block, d.launch->shared);
      unfinished = unfinished || block.alive != 0;
    }
    release_grid(blocks);
  }
}

// After a fault, fibers are stopped inside threads that will not continue.
void recover(RunningLaunch& d) {
  d.idle.clear();
  for (auto& fiber : d.fibers) {
    prepare(*fiber, worker);
    d.idle.push_back(fiber.get());
  }
  d.unused = nullptr;
  for (auto& round : d.rounds) {
    round->next_unused = d.unused;
    d.unused = round.get();
  }
}

void take_launch(RunningLaunch& d, const RunningLaunch& like) {
  d.launch = like.launch;
  d.data = like.data;
  d.closure = like.closure;
  d.threaded = like.launch->threaded;
  d.share = like.share;
  d.error = musaSuccess;
  if (d.threaded) musasim_own_dynamic_shared = d.dynamic;
  t_on_device = true;
}

void leave_launch(RunningLaunch& d) {
  t_on_device = false;
  d.thread = nullptr;
  if (d.error != musaSuccess) {
    recover(d);
  }
}

void run_part(RunningLaunch& d, const RunningLaunch& like) {
  take_launch(d, like);
  run_shared(d);
  auto& share = *d.share;
  int none = musaSuccess;
  if (d.error != musaSuccess) share.error.compare_exchange_strong(none, d.error);
  leave_launch(d);
}

musaError_t run_on(unsigned threads, RunningLaunch& d) {
  Share share;
  d.share = &share;
  run_on_threads(threads, run_part);
  d.share = nullptr;
  return static_cast<musaError_t>(share.error.load());
}

} // namespace

musaError_t run_grid(const Launch& launch, const void* data, const musasim_closure& closure) {
  auto& d = running_launch();
  d.launch = &launch;
  d.data = data;
  d.closure = &closure;
  assign(musasim_block_extent, launch.block);
  assign(musasim_grid_extent, launch.grid);
  musasim_dynamic_shared_bytes = static_cast<unsigned>(launch.shared);
  if (const unsigned threads = threads_of(launch); threads > 1) {
    return run_on(threads, d);
  }
  begin_order();
  memcheck::begin_launch(static_cast<unsigned>(launch.block.count()));
  take_launch(d, d);
  if (launch.cooperative) {
    run_together(d);
  } else {
    run_one_by_one(d);
  }
  leave_launch(d);
  memcheck::end_launch();
  return d.error;
}

} // namespace musart
