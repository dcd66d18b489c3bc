// A thread runs until it waits or returns. If it never waits, it costs no switch, because its fiber continues with the next thread.
#include "block.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <vector>

#include "driver.h"
#include "fiber.h"
#include "memcheck.h"

extern "C" {
// Constants for a kernel's compiler, under the names that engine.h and device.h declare.
#define MUSASIM_EXPORT __attribute__((visibility("default")))
MUSASIM_EXPORT unsigned musasim_thread_index[3];
MUSASIM_EXPORT unsigned musasim_block_index[3];
MUSASIM_EXPORT unsigned musasim_block_extent[3];
MUSASIM_EXPORT unsigned musasim_grid_extent[3];
MUSASIM_EXPORT unsigned musasim_lane;
MUSASIM_EXPORT unsigned musasim_warp;
MUSASIM_EXPORT unsigned musasim_dynamic_shared_bytes;
MUSASIM_EXPORT unsigned long long musasim_block_serial;
alignas(1024) MUSASIM_EXPORT char musasim_dynamic_shared[musart::kMostDynamicShared];
}

namespace musart {
namespace {

constexpr unsigned kWarp = MUSASIM_WARP_SIZE;
constexpr size_t kMostWaits = 6; // named in a report

enum class Wait { Nothing, Barrier, Exchange, Converge, Grid };

struct Round {
  musasim_round shared;
  unsigned mask = 0;
  unsigned readers = 0; // threads for which it is the last one
  const char* what = nullptr;
};

struct Thread {
  Fiber* fiber = nullptr;
  Round* round = nullptr;
  const char* place = nullptr; // file of a barrier, name of an exchange
  int line = 0;
  const void* caller = nullptr; // of a converge, because a line may contain two
  unsigned together = 0; // lanes of the last converge
  unsigned number = 0;
  Wait wait = Wait::Nothing;
};

struct Warp {
  unsigned alive = 0; // lanes that have not returned
  std::vector<Round*> open; // rounds that wait for lanes
  const char* barrier_file = nullptr; // where its lanes wait for the block; null while none does
  int barrier_line = 0;
};

struct Shared { // a __shared__ variable
  void* address;
  size_t bytes;
  std::vector<char> contents; // saved while another block runs
};

struct Block {
  Extent index;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<Thread*> ready; // a ring
  size_t ready_first = 0;
  size_t ready_count = 0;
  unsigned next = 0; // the next thread to begin
  unsigned alive = 0;
  unsigned arrived = 0; // at the barrier
  unsigned predicates = 0; // threads that arrived with a non-zero predicate
  musasim_votes votes{}; // of the last barrier
  unsigned at_grid = 0;
  bool yielded = false; // a thread waits for something that a thread that has not begun may do
  unsigned long long serial = 0;
  std::vector<Shared> shared;
  std::vector<char> dynamic; // contents, while another block runs
};

// The state of the running launch. Later launches reuse fibers and rounds.
struct Device {
  const Launch* launch = nullptr;
  const void* data = nullptr;
  const musasim_closure* closure = nullptr;
  Block* block = nullptr;
  Thread* thread = nullptr;
  Fiber* fiber = nullptr;
  void* scheduler = nullptr; // its saved stack pointer while a fiber runs
  musaError_t error = musaSuccess;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber*> idle;
  std::vector<std::unique_ptr<Round>> rounds;
  std::vector<Round*> unused;
};

Device& device() {
  static auto* one = new Device();
  return *one;
}

thread_local bool t_on_device = false;

void worker();

// --- threads -----------------------------------------------------------------------------------------------------------

Extent position(unsigned number, const Extent& extent) {
  return {number % extent.x, number / extent.x % extent.y, number / extent.x / extent.y};
}

void write(unsigned (&to)[3], const Extent& from) {
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
}

void bind(Device& d, Thread& thread) {
  d.thread = &thread;
  write(musasim_thread_index, position(thread.number, d.launch->block));
  musasim_lane = thread.number % kWarp;
  musasim_warp = thread.number / kWarp;
}

void make_ready(Block& block, Thread& thread) {
  thread.wait = Wait::Nothing;
  const size_t size = block.ready.size();
  size_t at = block.ready_first + block.ready_count++;
  block.ready[at < size ? at : at - size] = &thread;
}

Thread& take_ready(Block& block) {
  auto* thread = block.ready[block.ready_first++];
  if (block.ready_first == block.ready.size()) {
    block.ready_first = 0;
  }
  --block.ready_count;
  return *thread;
}

void wait(Device& d, Wait what, const char* place, int line) {
  auto& thread = *d.thread;
  thread.wait = what;
  thread.place = place;
  thread.line = line;
  switch_stacks(&d.fiber->stack_pointer, d.scheduler);
}

std::string text_of(const Extent& index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + ")";
}

// --- barrier -----------------------------------------------------------------------------------------------------------

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

// --- exchanges -----------------------------------------------------------------------------------------------------------

void let_go(Device& d, Thread& thread) {
  if (thread.round != nullptr && --thread.round->readers == 0) {
    d.unused.push_back(thread.round);
  }
  thread.round = nullptr;
}

Round& open_round(Device& d, Warp& warp, unsigned mask, const char* what) {
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

void close_round(Device& d, Warp& warp, Round& round) {
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
void finish(Device& d, Thread& thread) {
  auto& block = *d.block;
  let_go(d, thread);
  thread.fiber = nullptr;
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

Thread* begin_next(Device& d) {
  auto& block = *d.block;
  if ((block.ready_count != 0 && !block.yielded) || block.next == block.threads.size()) {
    return nullptr;
  }
  block.yielded = false;
  auto& thread = block.threads[block.next++];
  thread.fiber = d.fiber;
  bind(d, thread);
  return &thread;
}

const char* run_thread(Device& d) {
  try {
    d.closure->run(d.data);
  } catch (const std::exception& error) {
    static char text[256];
    std::snprintf(text, sizeof(text), "an exception left the kernel: %s", error.what());
    return text;
  } catch (...) {
    return "an exception left the kernel";
  }
  return nullptr;
}

void worker() {
  auto& d = device();
  for (;;) {
    while (auto* thread = begin_next(d)) {
      if (const char* problem = run_thread(d)) {
        musasim_fault(musaErrorLaunchFailure, problem);
      }
      finish(d, *thread);
    }
    d.idle.push_back(d.fiber);
    switch_stacks(&d.fiber->stack_pointer, d.scheduler);
  }
}

// --- the scheduler -----------------------------------------------------------------------------------------------------

Fiber* take_fiber(Device& d) {
  if (d.idle.empty()) {
    auto fiber = std::make_unique<Fiber>();
    if (!prepare(*fiber, worker)) {
      return nullptr;
    }
    d.idle.push_back(fiber.get());
    d.fibers.push_back(std::move(fiber));
  }
  auto* fiber = d.idle.back();
  d.idle.pop_back();
  return fiber;
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

void run_fiber(Device& d, Fiber& fiber) {
  d.fiber = &fiber;
  switch_stacks(&d.scheduler, fiber.stack_pointer);
}

// Runs until every thread of the block has returned or waits for the other blocks.
void run_block(Device& d) {
  auto& block = *d.block;
  while (d.error == musaSuccess && block.alive != 0) {
    const bool any_new = block.next != block.threads.size();
    if (block.ready_count != 0 && !(block.yielded && any_new)) {
      auto& thread = take_ready(block);
      bind(d, thread);
      run_fiber(d, *thread.fiber);
    } else if (any_new) {
      auto* fiber = take_fiber(d);
      if (fiber == nullptr) {
        d.error = d.launch->cooperative ? musaErrorCooperativeLaunchTooLarge : musaErrorLaunchOutOfResources;
        return;
      }
      run_fiber(d, *fiber);
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

void reset(Device& d, Block& block, const Extent& index) {
  static unsigned long long serial = 0;
  const auto count = static_cast<unsigned>(d.launch->block.count());
  block.index = index;
  block.threads.assign(count, Thread{});
  block.warps.resize((count + kWarp - 1) / kWarp);
  for (unsigned number = 0; number < count; ++number) {
    block.threads[number].number = number;
  }
  for (unsigned warp = 0; warp < block.warps.size(); ++warp) {
    const unsigned lanes = std::min(kWarp, count - warp * kWarp);
    block.warps[warp].alive = lanes == kWarp ? ~0U : (1U << lanes) - 1;
    block.warps[warp].open.clear();
    block.warps[warp].barrier_file = nullptr;
  }
  block.ready.assign(count, nullptr);
  block.ready_first = block.ready_count = 0;
  block.next = 0;
  block.alive = count;
  block.arrived = block.predicates = block.at_grid = 0;
  block.yielded = false;
  block.serial = ++serial;
  block.shared.clear();
}

void enter_block(Device& d, Block& block) {
  d.block = &block;
  write(musasim_block_index, block.index);
  musasim_block_serial = block.serial;
  memcheck::enter_block(block.serial);
}

void run_one_by_one(Device& d) {
  static auto* block = new Block();
  const auto& grid = d.launch->grid;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x && d.error == musaSuccess; ++x) {
        reset(d, *block, {x, y, z});
        enter_block(d, *block);
        if (memcheck::enabled()) {
          std::memset(musasim_dynamic_shared, 0xff, d.launch->shared); // as static variables, to show what nobody has written
        }
        run_block(d);
      }
    }
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
  memcheck::barrier();
  for (auto& block : blocks) {
    block.at_grid = 0;
    for (auto& thread : block.threads) {
      if (thread.wait == Wait::Grid) {
        make_ready(block, thread);
      }
    }
  }
}

void run_together(Device& d) {
  std::vector<Block> blocks(d.launch->grid.count());
  for (unsigned number = 0; number < blocks.size(); ++number) {
    reset(d, blocks[number], position(number, d.launch->grid));
  }
  for (bool unfinished = true; unfinished && d.error == musaSuccess;) {
    unfinished = false;
    for (auto& block : blocks) {
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
void recover(Device& d) {
  d.idle.clear();
  for (auto& fiber : d.fibers) {
    prepare(*fiber, worker);
    d.idle.push_back(fiber.get());
  }
  d.unused.clear();
  for (auto& round : d.rounds) {
    d.unused.push_back(round.get());
  }
}

} // namespace

bool on_device() noexcept {
  return t_on_device;
}

musaError_t run_grid(const Launch& launch, const void* data, const musasim_closure& closure) {
  auto& d = device();
  d.launch = &launch;
  d.data = data;
  d.closure = &closure;
  d.error = musaSuccess;
  write(musasim_block_extent, launch.block);
  write(musasim_grid_extent, launch.grid);
  musasim_dynamic_shared_bytes = static_cast<unsigned>(launch.shared);
  memcheck::begin_launch(static_cast<unsigned>(launch.block.count()));
  t_on_device = true;
  if (launch.cooperative) {
    run_together(d);
  } else {
    run_one_by_one(d);
  }
  t_on_device = false;
  memcheck::end_launch();
  if (d.error != musaSuccess) {
    recover(d);
  }
  return d.error;
}

bool checked_thread(CheckedThread* where) {
  const auto& d = device();
  if (!t_on_device || d.thread == nullptr) {
    return false;
  }
  write(where->block, d.block->index);
  write(where->thread, position(d.thread->number, d.launch->block));
  where->number = d.thread->number;
  where->warp = d.thread->number / kWarp;
  return true;
}

bool is_shared(const void* address) {
  const auto* at = static_cast<const char*>(address);
  const auto& d = device();
  if (at >= musasim_dynamic_shared && at < musasim_dynamic_shared + d.launch->shared) {
    return true;
  }
  return std::any_of(d.block->shared.begin(), d.block->shared.end(), [&](const Shared& variable) {
    const auto* begin = static_cast<const char*>(variable.address);
    return at >= begin && at < begin + variable.bytes;
  });
}

bool is_on_stack(const void* address) {
  const auto* at = static_cast<const char*>(address);
  const auto* low = device().fiber->stack;
  return at >= low && at < low + kFiberStack;
}

const char* checked_kernel() {
  return device().launch->kernel->name;
}

void abandon_launch(musaError_t error) {
  auto& d = device();
  d.error = error;
  void* nowhere = nullptr;
  switch_stacks(&nowhere, d.scheduler);
  __builtin_unreachable();
}

void report(const std::string& message) {
  const auto& d = device();
  std::string place = ", block " + text_of(d.block->index);
  if (d.thread != nullptr) {
    place += ", thread " + text_of(position(d.thread->number, d.launch->block));
  }
  std::fflush(stdout); // the kernel's own output comes first
  std::fprintf(stderr, "musasim: kernel %s%s: %s\n", d.launch->kernel->name, place.c_str(), message.c_str());
  std::fflush(stderr);
}

// CUDA's wording. The body of a kernel is a lambda here, which the message does not show.
void report_assertion(const char* expression, const char* file, unsigned line, const char* function) {
  const auto& d = device();
  std::string name(function);
  const auto lambda = name.find("::<lambda(");
  name.erase(std::min(lambda, name.size()));
  const auto& block = d.block->index;
  const auto thread = position(d.thread->number, d.launch->block);
  std::fflush(stdout);
  std::fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file, line,
      name.c_str(), block.x, block.y, block.z, thread.x, thread.y, thread.z, expression);
  std::fflush(stderr);
}

bool is_stack_overflow(const void* address) noexcept {
  const auto* low = device().fiber->stack;
  const auto* at = static_cast<const char*>(address);
  return at >= low - 4096 && at < low;
}

} // namespace musart

using namespace musart;

int musasim_on_device(void) {
  return t_on_device ? 1 : 0;
}

long long musasim_clock_ns(void) {
  return now_ns();
}

void musasim_fault(int error, const char* message) {
  if (!t_on_device) {
    std::fprintf(stderr, "musasim: outside of a kernel: %s\n", message);
    std::abort();
  }
  report(message);
  abandon_launch(static_cast<musaError_t>(error));
}

musasim_votes musasim_barrier(int predicate, const char* file, int line) {
  if (!t_on_device) {
    musasim_fault(musaErrorLaunchFailure, "a barrier was called");
  }
  auto& d = device();
  auto& block = *d.block;
  // A barrier counts the warps that have come, wherever they are: CUDA's programs send whole warps different ways. The lanes of
  // one warp must come together.
  auto& warp = block.warps[musasim_warp];
  if (warp.barrier_file == nullptr) {
    warp.barrier_file = file;
    warp.barrier_line = line;
  } else if (warp.barrier_line != line || std::strcmp(warp.barrier_file, file) != 0) {
    const std::string others = std::string(warp.barrier_file) + ":" + std::to_string(warp.barrier_line);
    const std::string mine = std::string(file) + ":" + std::to_string(line);
    const std::string message = "divergent barrier: this thread is at " + mine + ", others of its warp at " + others;
    musasim_fault(musaErrorLaunchFailure, message.c_str());
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
  if (!t_on_device) {
    musasim_fault(musaErrorLaunchFailure, what);
  }
  auto& d = device();
  auto& thread = *d.thread;
  auto& warp = d.block->warps[musasim_warp];
  const unsigned lane = musasim_lane;
  if ((mask >> lane & 1) == 0) {
    musasim_fault(musaErrorLaunchFailure, (std::string(what) + ": the mask does not contain the calling lane").c_str());
  }
  let_go(d, thread);
  auto* round = find_round(warp, mask);
  if (round == nullptr) {
    round = &open_round(d, warp, mask, what);
  } else if (round->what != what && std::strcmp(round->what, what) != 0) {
    musasim_fault(
        musaErrorLaunchFailure, (std::string(what) + ": other lanes of the mask are at " + round->what).c_str());
  }
  std::memcpy(round->shared.slot[lane], value, value == nullptr ? 0 : bytes);
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

unsigned musasim_converge(const char* file, int line) {
  if (!t_on_device) {
    return 1;
  }
  auto& d = device();
  let_go(d, *d.thread);
  d.thread->caller = __builtin_return_address(0);
  wait(d, Wait::Converge, file, line);
  return d.thread->together;
}

void musasim_grid_barrier(void) {
  auto& d = device();
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
  auto& d = device();
  make_ready(*d.block, *d.thread);
  d.block->yielded = true;
  switch_stacks(&d.fiber->stack_pointer, d.scheduler);
}

void musasim_declare_shared(void* address, size_t bytes) {
  auto& d = device();
  auto& known = d.block->shared;
  const auto is_it = [&](const Shared& variable) { return variable.address == address; };
  if (std::any_of(known.begin(), known.end(), is_it)) {
    return;
  }
  known.push_back({address, bytes, {}});
  std::memset(address, 0xff, bytes);
  size_t sum = 0;
  for (const auto& variable : known) {
    sum += variable.bytes;
  }
  auto& kernel = *d.launch->kernel;
  kernel.static_shared = std::max(kernel.static_shared, static_cast<unsigned>(sum));
}
