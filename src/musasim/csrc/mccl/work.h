#pragma once

#include "error.h"

#include <torch/csrc/distributed/c10d/Work.hpp>

#include <condition_variable>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace musasim::mccl {

// The end of an operation, apart from its tensors: who carries it out holds this, and nothing that costs device memory.
class Completion {
 public:
  // The first call decides.
  void complete(std::exception_ptr error);
  bool done() const;
  std::exception_ptr error() const;
  Clock::time_point finished() const;
  // Waits until it is done, at most until `until`; whether it is.
  bool wait(Clock::time_point until);
  // Now, if it is done already.
  void then(std::function<void()> callback);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::exception_ptr error_;
  Clock::time_point finished_;
  std::vector<std::function<void()>> callbacks_;
};

// What one rank waits for. Unlike on a device, `wait` keeps the host until the values are there.
class WorkMCCL final : public c10d::Work {
 public:
  struct Facts {
    c10d::OpType type;
    const char* title; // as the profiler shows it
    uint64_t sequence;
    int rank;
    c10::Device device;
    std::chrono::milliseconds timeout;
    std::vector<at::Tensor> inputs;
    std::vector<at::Tensor> outputs;
  };

  WorkMCCL(Facts facts, std::shared_ptr<Health> health);

  // What runs `job`, on whatever thread, and completes this work with what comes of it.
  std::function<void()> runner(std::function<void(Deadline)> job);
  void then(std::function<void()> callback) {
    completion_->then(std::move(callback));
  }

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  bool wait(std::chrono::milliseconds timeout) override;
  void synchronize() override;
  void abort() override;
  std::vector<at::Tensor> result() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  uint64_t getSequencenumber() const override;
  float getDuration() const override;
  std::chrono::milliseconds timeout() const {
    return facts_.timeout;
  }

 private:
  // What an error has to say of the operation.
  struct Story {
    int rank;
    std::string operation;
    Clock::time_point asked = Clock::now();
    std::shared_ptr<Health> health;

    std::exception_ptr failed(const std::exception& error) const;
    std::exception_ptr timed_out(const std::string& detail) const;
  };

  const Facts facts_;
  const std::shared_ptr<const Story> story_;
  const std::shared_ptr<Completion> completion_ = std::make_shared<Completion>();
  const Deadline deadline_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// Several works that are waited for as one.
class JoinedWork final : public c10d::Work {
 public:
  JoinedWork(std::vector<c10::intrusive_ptr<c10d::Work>> parts, int rank, c10::Device device);

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  bool wait(std::chrono::milliseconds timeout) override;
  void synchronize() override;
  void abort() override;
  std::vector<at::Tensor> result() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  const std::vector<c10::intrusive_ptr<c10d::Work>> parts_;
  const c10::Device device_;
};

} // namespace musasim::mccl
