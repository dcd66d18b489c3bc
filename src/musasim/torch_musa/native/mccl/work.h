#pragma once

#include "error.h"
#include "settings.h"

#include "musart/driver.h"

#include <torch/csrc/distributed/c10d/Work.hpp>

#include <condition_variable>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace musasim::mccl {

// The end of an operation, without its tensors. The thread that runs it holds this object, which needs no device memory.
class Completion {
 public:
  // Only the first call counts.
  void complete(std::exception_ptr error);
  bool done() const;
  std::exception_ptr error() const;
  Clock::time_point finished() const;
  // Waits until it is done, at most until `until`, and returns whether it is.
  bool wait(Clock::time_point until);
  // Calls it at the end, or now if the operation is done already.
  void then(std::function<void()> callback);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::exception_ptr error_;
  Clock::time_point finished_;
  std::vector<std::function<void()>> callbacks_;
};

// Raises unless this release's works can be waited for by a stream alone, as torch does for a device that has no such wait.
void check_blocks_streams();

// The work that one rank waits for. Unlike on a device, `wait` blocks the host until the values are available.
class WorkMCCL final : public c10d::Work {
 public:
  struct Facts {
    c10d::OpType type;
    std::string title; // for the profiler
    uint64_t sequence;
    int rank;
    c10::Device device;
    std::chrono::milliseconds timeout;
    Settings settings;
    std::vector<at::Tensor> inputs;
    std::vector<at::Tensor> outputs;
  };

  WorkMCCL(Facts facts, std::shared_ptr<Health> health);

  // A function that runs `job`, on any thread, and completes this work with its outcome.
  std::function<void()> runner(std::function<void(Deadline)> job);
  void then(std::function<void()> callback) {
    completion_->then(std::move(callback));
  }
  // From here on, a wait for the whole device waits for this work too, and raises its error.
  void begin_on_device();

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  bool wait(std::chrono::milliseconds timeout) override;
  void synchronize() override;
  void blockCurrentStream(); // newer than the oldest torch that is supported, hence no override
  void abort() override;
  std::vector<at::Tensor> result() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override;
  uint64_t getSequencenumber() const override;
  float getDuration() const override;
  std::chrono::milliseconds timeout() const {
    return facts_.timeout;
  }

 private:
  // Runs it when the operation has ended, and at once if it has.
  void at_the_end(std::function<void()> settle_future);

  musart::Known known_; // of the stream that the operation follows, and of whoever waits for the operation

  // The facts about the operation for error messages.
  struct Story {
    int rank;
    std::string operation;
    Clock::time_point asked = Clock::now();
    std::shared_ptr<Health> health;

    std::exception_ptr failed(const std::exception& error) const;
    std::exception_ptr timed_out(const std::string& detail) const;
    // Until the operation is over, or the time is, or the communicator is aborted.
    void wait_for(Completion& completion, Clock::time_point until) const;
  };

  const Facts facts_;
  const std::shared_ptr<const Story> story_;
  const std::shared_ptr<Completion> completion_ = std::make_shared<Completion>();
  const Deadline deadline_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  c10::intrusive_ptr<c10::ivalue::Future> result_;
};

// Several works that a program waits for as one.
class JoinedWork final : public c10d::Work {
 public:
  JoinedWork(std::vector<c10::intrusive_ptr<c10d::Work>> parts, int rank, c10::Device device);

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  bool wait(std::chrono::milliseconds timeout) override;
  void synchronize() override;
  void blockCurrentStream();
  void abort() override;
  std::vector<at::Tensor> result() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override;

 private:
  const std::vector<c10::intrusive_ptr<c10d::Work>> parts_;
  const c10::Device device_;
};

} // namespace musasim::mccl
