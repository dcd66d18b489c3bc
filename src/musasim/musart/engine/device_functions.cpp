// What kernels call: include/musasim/engine.h.
#include "../driver/stream.h"
#include "../ground/on_device.h"
#include "../include/musasim/engine.h"
#include "launch.h"
#include "running.h"
#include "waiting.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

using namespace musart;

namespace {

// What the launch would have been refused for, had the variables been known. A device's compiler knows them.
[[noreturn]] void refuse_shared(const Launch& launch, size_t fixed, const std::string& place) {
  report("too much shared memory: " + std::to_string(fixed) + " bytes of __shared__ variables with the one at " + place + ", and " +
         std::to_string(launch.shared) + " bytes of the launch; a block has " + std::to_string(kUsualShared) +
         ", and more for a launch after musaFuncSetAttribute");
  abandon_launch(musaErrorInvalidValue);
}

// Functions of their own, because texts would make room on each thread's stack.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_exchange(const char* what, const char* why, const char* other = "") {
  musasim_fault(musaErrorLaunchFailure, (std::string(what) + ": " + why + other).c_str());
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_barrier(const Warp& warp, const char* file, int line) {
  const std::string others = std::string(warp.barrier_file) + ":" + std::to_string(warp.barrier_line);
  const std::string mine = std::string(file) + ":" + std::to_string(line);
  const std::string message = "divergent barrier: this thread is at " + mine + ", others of its warp at " + others;
  musasim_fault(musaErrorLaunchFailure, message.c_str());
}

// Most values have four or eight bytes.
inline void give(unsigned char* slot, const void* value, size_t bytes) {
  if (value == nullptr) return;
  if (bytes == 4) std::memcpy(slot, value, 4);
  else if (bytes == 8) std::memcpy(slot, value, 8);
  else std::memcpy(slot, value, bytes);
}

// The lanes of `mask` meet, after each has left something.
template <class Leave>
const musasim_round* meet(unsigned mask, const char* what, Leave leave) {
  auto& d = running_launch();
  if (d.thread == nullptr) {
    musasim_fault(musaErrorLaunchFailure, what);
  }
  auto& thread = *d.thread;
  auto& warp = d.block->warps[thread.number / kWarp];
  const unsigned lane = thread.number % kWarp;
  if ((mask >> lane & 1) == 0) {
    refuse_exchange(what, "the mask does not contain the calling lane");
  }
  let_go(d, thread);
  auto* round = find_round(warp, mask);
  if (round == nullptr) {
    round = &open_round(d, warp, mask, what);
  } else if (round->what != what && std::strcmp(round->what, what) != 0) {
    refuse_exchange(what, "other lanes of the mask are at ", round->what);
  }
  leave(round->shared, lane);
  round->shared.lanes |= 1U << lane;
  thread.round = round;
  ++round->readers;
  if (is_complete(warp, *round)) {
    close_round(d, warp, *round);
  } else {
    wait(d, Wait::Exchange, what, 0);
  }
  return &thread.round->shared;
}

} // namespace

int musasim_on_device(void) {
  return t_on_device ? 1 : 0;
}

long long musasim_clock_ns(void) {
  return now_ns();
}

musasim_votes musasim_barrier(int predicate, const char* file, int line) {
  auto& d = running_launch();
  if (d.thread == nullptr) {
    musasim_fault(musaErrorLaunchFailure, "a barrier was called");
  }
  auto& block = *d.block;
  // A barrier counts the warps that have come, wherever they are: CUDA's programs send whole warps different ways. The lanes of
  // one warp must come together.
  auto& warp = block.warps[d.thread->number / kWarp];
  if (warp.barrier_file == nullptr) {
    warp.barrier_file = file;
    warp.barrier_line = line;
  } else if (warp.barrier_line != line || (warp.barrier_file != file && std::strcmp(warp.barrier_file, file) != 0)) {
    refuse_barrier(warp, file, line);
  }
  block.predicates += predicate != 0 ? 1 : 0;
  if (++block.arrived == block.alive) {
    finish_barrier(block);
  } else {
    wait(d, Wait::Barrier, file, line);
  }
  return block.votes;
}

const musasim_round* musasim_exchange(unsigned mask, const void* value, size_t bytes, const char* what) {
  return meet(mask, what, [=](musasim_round& round, unsigned lane) { give(round.slot[lane], value, bytes); });
}

const musasim_round* musasim_vote(unsigned mask, int predicate, const char* what) {
  return meet(mask, what, [=](musasim_round& round, unsigned lane) { round.votes |= (predicate != 0 ? 1U : 0U) << lane; });
}

unsigned musasim_converge(const char* file, int line) {
  if (!t_on_device) {
    return 1;
  }
  auto& d = running_launch();
  let_go(d, *d.thread);
  d.thread->caller = __builtin_return_address(0);
  wait(d, Wait::Converge, file, line);
  return d.thread->together;
}

void musasim_grid_barrier(void) {
  auto& d = running_launch();
  if (!t_on_device || !d.launch->cooperative) {
    musasim_fault(musaErrorLaunchFailure, "a grid barrier in a launch that is not cooperative");
  }
  ++d.block->at_grid;
  wait(d, Wait::Grid, "grid", 0);
}

void musasim_yield(void) {
  if (!t_on_device) {
    return;
  }
  auto& d = running_launch();
  make_ready(*d.block, *d.thread);
  d.block->yielded = true;
  go_on(d);
}

int musasim_is_shared(const void* address) {
  return t_on_device && musart::is_shared(address) ? 1 : 0;
}

int musasim_is_local(const void* address) {
  return t_on_device && musart::is_on_stack(address) ? 1 : 0;
}

size_t musasim_shared_number(const void* address) {
  const auto* at = static_cast<const char*>(address);
  const auto number = reinterpret_cast<size_t>(address);
  if (!t_on_device) {
    return number;
  }
  const auto& d = running_launch();
  if (at >= d.dynamic && at < d.dynamic + kMostDynamicShared) {
    return kDynamicNumber + static_cast<size_t>(at - d.dynamic);
  }
  for (const auto& variable : d.block->shared) {
    const auto* begin = static_cast<const char*>(variable.address);
    if (at >= begin && at <= begin + variable.bytes) {
      return variable.number + static_cast<size_t>(at - begin);
    }
  }
  return number;
}

void* musasim_shared_address(size_t number) {
  if (!t_on_device || number >= 2 * kDynamicNumber) {
    return reinterpret_cast<void*>(number);
  }
  if (number >= kDynamicNumber) {
    return running_launch().dynamic + (number - kDynamicNumber);
  }
  const auto& known = running_launch().block->shared;
  const auto behind = [&](const Shared& variable) { return variable.number > number; };
  const auto next = std::find_if(known.begin(), known.end(), behind);
  if (next == known.begin()) {
    return reinterpret_cast<void*>(number);
  }
  const auto& variable = *(next - 1);
  return static_cast<char*>(variable.address) + (number - variable.number);
}

void musasim_declare_shared_at(void* address, size_t bytes, const char* file, int line) {
  auto& d = running_launch();
  auto& known = d.block->shared;
  const auto is_it = [&](const Shared& variable) { return variable.address == address; };
  if (std::any_of(known.begin(), known.end(), is_it)) {
    return;
  }
  known.push_back({address, bytes, next_shared_number(*d.block, address), {}});
  std::memset(address, 0xff, bytes);
  size_t sum = 0;
  for (const auto& variable : known) {
    sum += variable.bytes;
  }
  auto& kernel = *d.launch->kernel;
  const std::atomic_ref<unsigned> most(kernel.static_shared); // other OS threads find the same
  if (most.load(std::memory_order_relaxed) < sum) most.store(static_cast<unsigned>(sum), std::memory_order_relaxed);
  if (!fits_in_shared(kernel, sum, d.launch->shared)) {
    refuse_shared(*d.launch, sum, std::string(file) + ":" + std::to_string(line));
  }
}

// For objects that were compiled before the place was told.
void musasim_declare_shared(void* address, size_t bytes) {
  musasim_declare_shared_at(address, bytes, "an unknown place", 0);
}
