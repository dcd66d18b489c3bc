#pragma once

#include "error.h"

#include <torch/csrc/distributed/c10d/Work.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace musasim::mccl {

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

  // Runs `job`, on whatever thread, and completes the work with what comes of it.
  void run(const std::function<void(Deadline)>& job);

  bool isCompleted() override;
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

  std::function<void()> on_finish;

 private:
  void complete(std::exception_ptr error);
  void complete_future();
  std::exception_ptr translate(const std::exception& error);
  std::exception_ptr timed_out(const std::string& detail);
  std::string describe() const;

  const Facts facts_;
  const std::shared_ptr<Health> health_;
  const Clock::time_point asked_ = Clock::now();
  const Deadline deadline_;
  Clock::time_point finished_;
  std::atomic<bool> finishing_{false};
  bool settled_ = false; // the future, or there is none
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
