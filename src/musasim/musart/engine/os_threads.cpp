#include "os_threads.h"

#include "../driver/checked_memory.h"
#include "../driver/happens_before.h"
#include "../ground/environment.h"
#include "seed.h"
#include "signals.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace musart {
namespace {

constexpr long long kMostThreads = 1024;
constexpr size_t kLeastWork = 4096; // threads of a kernel; with fewer, waking others costs more than they do

unsigned processors() {
  cpu_set_t usable;
  return sched_getaffinity(0, sizeof(usable), &usable) == 0 ? static_cast<unsigned>(CPU_COUNT(&usable)) : 1;
}

unsigned wanted_threads() {
  static const unsigned wanted = [] {
    const char* text = std::getenv("MUSASIM_THREADS");
    const bool all = text != nullptr && std::strcmp(text, "all") == 0;
    return all ? processors() : static_cast<unsigned>(read_number("MUSASIM_THREADS", 1, 1, kMostThreads));
  }();
  return wanted;
}

using Work = void (*)(RunningLaunch& d, const RunningLaunch& like);

// OS threads that wait for work. They do not outlive a fork: a child has a crew of its own.
class Crew {
 public:
  static Crew& of_this_process() {
    static Crew* crew = nullptr; // one launch runs at a time
    if (crew == nullptr || crew->process_ != getpid()) crew = new Crew();
    return *crew;
  }

  void run(unsigned helpers, Work work) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (; size_ < helpers; ++size_) start();
      work_ = work;
      places_ = busy_ = helpers;
      begin_.notify_all();
    }
    work(the_launch, the_launch);
    std::unique_lock<std::mutex> lock(mutex_);
    end_.wait(lock, [&] { return busy_ == 0; });
  }

 private:
  // Signals of the process are not for it.
  void start() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { help(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void help() {
    receive_faults();
    auto& own = *new RunningLaunch();
    own.dynamic = static_cast<char*>(std::aligned_alloc(1024, kMostDynamicShared));
    t_launch = &own;
    for (std::unique_lock<std::mutex> lock(mutex_);;) {
      begin_.wait(lock, [&] { return places_ != 0; });
      --places_;
      lock.unlock();
      work_(own, the_launch);
      lock.lock();
      if (--busy_ == 0) end_.notify_one();
    }
  }

  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  Work work_ = nullptr;
  unsigned size_ = 0, places_ = 0, busy_ = 0;
};

} // namespace

unsigned threads_of(const Launch& launch) {
  const bool may = launch.threaded && !launch.cooperative && !is_seeded() && !memcheck::enabled() && !streamcheck::enabled();
  if (!may || wanted_threads() == 1 || launch.grid.count() * launch.block.count() < kLeastWork) {
    return 1;
  }
  return static_cast<unsigned>(std::min<size_t>(wanted_threads(), launch.grid.count()));
}

void run_on_threads(unsigned threads, Work work) {
  Crew::of_this_process().run(threads - 1, work);
}

} // namespace musart
