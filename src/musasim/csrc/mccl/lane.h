#pragma once

#include <functional>
#include <memory>

namespace musasim::mccl {

// Work that happens in the order in which it was asked for, while the program goes on: what a communicator's stream is on a
// device. A thread of its own, made with the first job. Jobs must not throw.
class Lane {
 public:
  Lane() = default;
  // Does not wait: the thread finishes what was asked for and goes. A transport may keep it until its timeout.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void push(std::function<void()> job);

 private:
  struct Queue;
  static void work(Queue& queue);
  std::shared_ptr<Queue> queue_;
};

} // namespace musasim::mccl
