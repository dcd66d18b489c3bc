#include "elsewhere.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace musasim::mccl {
namespace {

// Grows by a thread whenever all are busy. Never destroyed, because its threads may run the program's code when the process ends.
class Threads {
 public:
  void run(std::function<void()> job) {
    const std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back(std::move(job));
    if (jobs_.size() > idle_) {
      std::thread([this] { work(); }).detach();
    } else {
      wake_.notify_one();
    }
  }

 private:
  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      while (jobs_.empty()) {
        ++idle_;
        wake_.wait(lock);
        --idle_;
      }
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      job = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  size_t idle_ = 0;
};

} // namespace

void run_elsewhere(std::function<void()> job) {
  static auto* threads = new Threads();
  threads->run(std::move(job));
}

} // namespace musasim::mccl
