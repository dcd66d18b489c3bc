#include "lane.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace musasim::mccl {
namespace {

std::atomic<int> unfinished{0}; // jobs of all lanes

} // namespace

struct Lane::Queue {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> jobs;
  bool closed = false;
};

Lane::~Lane() {
  if (queue_ != nullptr) {
    const std::lock_guard<std::mutex> lock(queue_->mutex);
    queue_->closed = true;
    queue_->wake.notify_one();
  }
}

void Lane::push(std::function<void()> job) {
  if (queue_ == nullptr) {
    queue_ = std::make_shared<Queue>();
    std::thread([queue = queue_] { work(*queue); }).detach();
  }
  ++unfinished;
  const std::lock_guard<std::mutex> lock(queue_->mutex);
  queue_->jobs.push_back(std::move(job));
  queue_->wake.notify_one();
}

void Lane::wait_for_all(std::chrono::milliseconds longest) {
  const auto until = std::chrono::steady_clock::now() + longest;
  while (unfinished.load() != 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Lane::work(Queue& queue) {
  std::unique_lock<std::mutex> lock(queue.mutex);
  while (true) {
    queue.wake.wait(lock, [&] { return queue.closed || !queue.jobs.empty(); });
    if (queue.jobs.empty()) {
      return;
    }
    auto job = std::move(queue.jobs.front());
    queue.jobs.pop_front();
    lock.unlock();
    job();
    job = nullptr; // before the lock: it may hold the last reference to anything
    --unfinished;
    lock.lock();
  }
}

} // namespace musasim::mccl
