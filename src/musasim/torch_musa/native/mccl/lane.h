#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace musasim::mccl {

// Runs work in the order of the requests while the program continues, like a communicator's stream on a device. It has its
// own thread, which starts with the first job. Jobs must not throw.
class Lane {
 public:
  Lane() = default;
  // Does not wait: the thread finishes its jobs and ends. A transport may block it until its timeout.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void push(std::function<void()> job);
  // Until the jobs of all lanes are done, or for the longest time.
  static void wait_for_all(std::chrono::milliseconds longest);

 private:
  struct Queue;
  static void work(Queue& queue);
  std::shared_ptr<Queue> queue_;
};

} // namespace musasim::mccl
