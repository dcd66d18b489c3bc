#include "postponed.h"

#include "../ground/chosen_seed.h"
#include "../ground/on_device.h"
#include "../ground/without_locks.h"
#include "device.h"
#include "happens_before.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace musart::postponed {

std::atomic<int> waiting{0};
std::atomic<bool> has_error{false};

namespace {

constexpr size_t kMost = 64;
constexpr std::chrono::milliseconds kIdle{200};

struct Piece {
  streamcheck::Moment work;
  Known known; // what comes before it, and itself
  std::function<void()> run;
};

struct Pieces {
  std::mutex mutex; // held while they run too, so that every other thread's work comes after them
  std::vector<Piece> waiting;
  std::mt19937_64 numbers{chosen_seed().number};
  std::atomic<uint64_t> asked{0}; // how often anything was added or waited for
  std::atomic<int> busy{0};
  std::mutex error_mutex;
  std::exception_ptr error;
};

Pieces& pieces() {
  static auto* all = new Pieces();
  return *all;
}

thread_local bool t_runs = false;

using Chosen = std::vector<size_t>;

bool is_ready(const Pieces& all, const Piece& piece) {
  return std::none_of(all.waiting.begin(), all.waiting.end(), [&](const Piece& other) {
    return &other != &piece && streamcheck::is_over(other.work, piece.known);
  });
}

template <typename Wanted>
Chosen ready(const Pieces& all, Wanted wanted) {
  Chosen chosen;
  for (size_t at = 0; at < all.waiting.size(); ++at) {
    if (wanted(all.waiting[at]) && is_ready(all, all.waiting[at])) chosen.push_back(at);
  }
  return chosen;
}

bool any_piece(const Piece&) {
  return true;
}

void keep(Pieces& all, std::exception_ptr error) {
  const std::lock_guard<std::mutex> lock(all.error_mutex);
  if (!all.error) all.error = std::move(error);
  has_error = true;
}

void run_one_of(Pieces& all, const Chosen& chosen) {
  const auto at = all.waiting.begin() + static_cast<std::ptrdiff_t>(chosen[all.numbers() % chosen.size()]);
  auto work = std::move(at->run);
  all.waiting.erase(at);
  t_runs = true;
  try {
    work();
  } catch (...) {
    keep(all, std::current_exception());
  }
  work = nullptr;
  t_runs = false;
  waiting = static_cast<int>(all.waiting.size());
}

// Work may be written in Python, and the thread that runs it needs Python's lock then, which this one may hold.
template <typename Act>
void with_pieces(Act act) {
  auto& all = pieces();
  ++all.asked;
  const std::unique_lock<std::mutex> at_once(all.mutex, std::try_to_lock);
  if (at_once.owns_lock()) {
    act(all);
    return;
  }
  without_locks([&] {
    const std::lock_guard<std::mutex> lock(all.mutex);
    act(all);
  });
}

// Each time, one of those that have to run, or by chance another one that may.
template <typename Needed>
void run_needed(Needed needed) {
  if (t_runs || in_bad_fork() || on_device()) return;
  with_pieces([&](Pieces& all) {
    for (auto chosen = ready(all, needed); !chosen.empty(); chosen = ready(all, needed)) {
      run_one_of(all, all.numbers() % 4 == 0 ? ready(all, any_piece) : chosen);
    }
  });
}

// A device begins work though the host does nothing but look at its own memory, or wait for another process.
void run_what_is_left_alone() {
  for (uint64_t seen = 0;; seen = pieces().asked) {
    std::this_thread::sleep_for(kIdle);
    if (any() && pieces().busy == 0 && pieces().asked == seen) run_all();
  }
}

void watch() {
  static const bool begun = (std::thread(&run_what_is_left_alone).detach(), true);
  static_cast<void>(begun);
}

} // namespace

bool wanted() noexcept {
  return streamcheck::orders_for_seed();
}

bool runs_here() noexcept {
  return t_runs;
}

Busy::Busy() noexcept {
  ++pieces().busy;
}

Busy::~Busy() {
  ++pieces().asked;
  --pieces().busy;
}

std::exception_ptr take_error() noexcept {
  auto& all = pieces();
  const std::lock_guard<std::mutex> lock(all.error_mutex);
  has_error = false;
  return std::exchange(all.error, nullptr);
}

void add(Stream& stream, std::function<void()> work) {
  if (t_runs) { // what such work launches itself is a part of it
    work();
    return;
  }
  watch();
  with_pieces([&](Pieces& all) {
    {
      const std::lock_guard<std::recursive_mutex> order(streamcheck::order_lock());
      const auto moment = streamcheck::begin_work(stream);
      all.waiting.push_back({moment, stream.known, std::move(work)});
    }
    waiting = static_cast<int>(all.waiting.size());
    while (!all.waiting.empty() && (all.waiting.size() > kMost || all.numbers() % 2 == 0)) {
      run_one_of(all, ready(all, any_piece));
    }
  });
}

void run_all() noexcept {
  run_needed(&any_piece);
}

void run_in(const Known& known) noexcept {
  run_needed([&](const Piece& piece) { return streamcheck::is_over(piece.work, known); });
}

void run_before_next_of(Stream& stream) noexcept {
  Known known;
  streamcheck::record_known(known, stream);
  run_in(known);
}

} // namespace musart::postponed
