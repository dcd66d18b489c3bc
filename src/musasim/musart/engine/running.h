// The launch that runs: its block, its threads, what they wait for, and where they are. Launches run one at a time.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "../include/musasim/engine.h"
#include "../include/musasim/errors.h"
#include "configuration.h"
#include "fiber.h"

// What the kernels' compiler has as constants, under the names that engine.h and device.h declare.
#define MUSASIM_EXPORT __attribute__((visibility("default")))
extern "C" {
MUSASIM_EXPORT extern unsigned musasim_thread_index[3];
MUSASIM_EXPORT extern unsigned musasim_block_index[3];
MUSASIM_EXPORT extern unsigned musasim_block_extent[3];
MUSASIM_EXPORT extern unsigned musasim_grid_extent[3];
MUSASIM_EXPORT extern unsigned musasim_lane;
MUSASIM_EXPORT extern unsigned musasim_warp;
MUSASIM_EXPORT extern unsigned musasim_dynamic_shared_bytes;
MUSASIM_EXPORT extern unsigned long long musasim_block_serial;
// The same of an OS thread, for kernels whose blocks run on several.
#define MUSASIM_OWN __thread __attribute__((tls_model("initial-exec")))
#define MUSASIM_OWN_EXPORT MUSASIM_EXPORT extern MUSASIM_OWN
MUSASIM_OWN_EXPORT unsigned musasim_own_thread_index[3];
MUSASIM_OWN_EXPORT unsigned musasim_own_block_index[3];
MUSASIM_OWN_EXPORT unsigned musasim_own_lane;
MUSASIM_OWN_EXPORT unsigned musasim_own_warp;
MUSASIM_OWN_EXPORT unsigned long long musasim_own_block_serial;
MUSASIM_OWN_EXPORT char* musasim_own_dynamic_shared;
}

namespace musart {

constexpr unsigned kWarp = MUSASIM_WARP_SIZE;

enum class Wait { Nothing, Barrier, Exchange, Converge, Grid };

struct Round {
  musasim_round shared;
  unsigned mask = 0;
  unsigned readers = 0; // threads for which it is the last one
  const char* what = nullptr;
  Round* next_unused = nullptr;
};

struct Thread {
  Extent index; // constant in a launch, as the number
  unsigned number = 0;
  Fiber* fiber = nullptr;
  Round* round = nullptr;
  const char* place = nullptr; // file of a barrier, name of an exchange
  int line = 0;
  const void* caller = nullptr; // of a converge, because a line may contain two
  unsigned together = 0; // lanes of the last converge
  Wait wait = Wait::Nothing;
};

struct Warp {
  unsigned alive = 0; // lanes that have not returned
  std::vector<Round*> open; // rounds that wait for lanes
  const char* barrier_file = nullptr; // where its lanes wait for the block; null while none does
  int barrier_line = 0;
};

constexpr size_t kDynamicNumber = 1 << 20; // where a block's dynamic shared memory begins, behind all __shared__ variables

struct Shared { // a __shared__ variable
  void* address;
  size_t bytes;
  size_t number; // where it begins in the block's shared memory
  std::vector<char> contents; // saved while another block runs
};

struct Block {
  Extent index;
  unsigned number = 0; // in the grid
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<Thread*> ready; // a ring
  size_t ready_first = 0;
  size_t ready_count = 0;
  std::vector<unsigned> order; // in which threads begin, and go on after a barrier
  unsigned next = 0; // the next of these to begin
  unsigned count = 0; // of the threads
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

// A launch whose blocks several OS threads run, each the next one that nobody has begun.
struct Share {
  std::atomic<size_t> next{0}; // block
  std::atomic<int> error{musaSuccess}; // the first
  std::atomic<bool> told{false}; // on stderr, what it was
};

// The state of the running launch on one OS thread. Later launches reuse fibers and rounds.
struct RunningLaunch {
  const Launch* launch = nullptr;
  bool threaded = false; // the launch's
  Share* share = nullptr; // where other OS threads run blocks of the launch, too
  char* dynamic = musasim_dynamic_shared; // the running block's dynamic shared memory
  unsigned long long serial = 0; // of the last block
  Block one; // for launches whose blocks run one after another
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
  Round* unused = nullptr; // the first of them
};

extern RunningLaunch& the_launch;
extern MUSASIM_OWN RunningLaunch* t_launch; // `the_launch`, or that of an OS thread that helps

inline RunningLaunch& running_launch() {
  return *t_launch;
}

// Whether this OS thread is the one that says what has gone wrong: one fault ends a launch.
inline bool tells_first(const RunningLaunch& d) {
  return d.share == nullptr || !d.share->told.exchange(true);
}

inline void assign(unsigned (&to)[3], const Extent& from) {
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
}

// Of a thread in its block, of a block in its grid.
inline Extent position(unsigned number, const Extent& extent) {
  return {number % extent.x, number / extent.x % extent.y, number / extent.x / extent.y};
}

std::string text_of(const Extent& index);

// Ends the launch that runs on this thread. A signal handler may call this.
[[noreturn]] void abandon_launch(musaError_t error);
void report(const std::string& message); // names the kernel and the thread
void report_assertion(const char* expression, const char* file, unsigned line, const char* function);
bool is_stack_overflow(const void* address) noexcept;

// Where the running thread is, for what looks at its accesses.
struct CheckedThread {
  unsigned block, number, warp; // their numbers: of the block in the grid, of the thread and its warp in the block
};
bool checked_thread(CheckedThread* where); // of the running thread; false if there is none
bool is_shared(const void* address); // in a __shared__ variable of the running block
size_t next_shared_number(const Block& block, const void* address); // for a variable that the block has not passed yet
bool is_on_stack(const void* address); // of the running thread
const char* checked_kernel();

} // namespace musart
