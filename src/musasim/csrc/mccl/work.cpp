#include "work.h"

#include "../runtime/version.h"
#include "elsewhere.h"

#include <ATen/core/ivalue.h>

#include <algorithm>

namespace musasim::mccl {
namespace {

using Future = c10::ivalue::Future;
using Milliseconds = std::chrono::milliseconds;

// A transport notices the end of its time by itself, and says more about it than we can. It gets this much longer.
constexpr Milliseconds kGrace{1000};
// How often one who waits looks whether the communicator was aborted.
constexpr Milliseconds kLook{50};

c10::intrusive_ptr<Future> make_future(c10::Device device) {
  // Of the device: DDP takes the tensors out of it for its buckets.
  return c10::make_intrusive<Future>(c10::ListType::create(c10::TensorType::get()), std::vector<c10::Device>{device});
}

void settle(Future& future, const std::exception_ptr& error, const std::vector<at::Tensor>& values) {
  if (error) {
    future.setError(error);
  } else {
    future.markCompleted(c10::IValue(values));
  }
}

std::string text_of(const std::exception& error) {
  const auto* ours = dynamic_cast<const c10::Error*>(&error);
  return ours != nullptr ? ours->what_without_backtrace() : error.what();
}

int64_t elements(const std::vector<at::Tensor>& tensors) {
  int64_t count = 0;
  for (const auto& tensor : tensors) {
    count += tensor.numel();
  }
  return count;
}

Milliseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<Milliseconds>(Clock::now() - start);
}

} // namespace

WorkMCCL::WorkMCCL(Facts facts, std::shared_ptr<Health> health)
    : Work(facts.rank, facts.type, facts.title, facts.inputs),
      facts_(std::move(facts)),
      health_(std::move(health)),
      deadline_(after(facts_.timeout)) {}

void WorkMCCL::run(const std::function<void(Deadline)>& job) {
  std::exception_ptr error;
  try {
    health_->check();
    job(deadline_);
  } catch (const c10::DistBackendError&) {
    error = std::current_exception(); // ours already: the ranks disagree, or the communicator is gone
  } catch (const std::exception& failure) {
    error = translate(failure);
  }
  complete(error);
}

void WorkMCCL::complete(std::exception_ptr error) {
  if (finishing_.exchange(true)) {
    return; // given up meanwhile
  }
  finished_ = Clock::now();
  finish(std::move(error));
  if (on_finish) {
    on_finish();
  }
  complete_future();
}

void WorkMCCL::complete_future() {
  c10::intrusive_ptr<Future> future;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!settled_) {
      future = future_;
    }
    settled_ = true;
  }
  if (future != nullptr) {
    run_elsewhere([future, error = exception(), outputs = facts_.outputs] { settle(*future, error, outputs); });
  }
}

std::exception_ptr WorkMCCL::translate(const std::exception& error) {
  const auto failure = explain(text_of(error));
  if (failure.type == c10d::ErrorType::TIMEOUT) {
    return timed_out(failure.reason);
  }
  const auto text = c10::str(describe(), ": ", failure.reason);
  health_->fail(failure.type, text);
  return backend_error(text);
}

std::exception_ptr WorkMCCL::timed_out(const std::string& detail) {
  auto text = timeout_text(facts_.rank, describe(), since(asked_));
  if (!detail.empty()) {
    text += "\nLast error:\n" + detail;
  }
  health_->fail(c10d::ErrorType::TIMEOUT, text);
  return backend_error(text);
}

std::string WorkMCCL::describe() const {
  return c10::str(
      "WorkMCCL(SeqNum=",
      facts_.sequence,
      ", OpType=",
      c10d::opTypeToString(facts_.type),
      ", NumelIn=",
      elements(facts_.inputs),
      ", NumelOut=",
      elements(facts_.outputs),
      ", Timeout(ms)=",
      facts_.timeout.count(),
      ")");
}

bool WorkMCCL::isCompleted() {
  if (!Work::isCompleted() && !health_->good()) {
    complete(health_->aborted());
  }
  return Work::isCompleted();
}

bool WorkMCCL::wait(Milliseconds timeout) {
  const auto until = timeout == kNoTimeout ? deadline_ + kGrace : after(timeout);
  std::unique_lock<std::mutex> lock(mutex_);
  while (!completed_) {
    const auto now = Clock::now();
    if (now >= until || !health_->good()) {
      lock.unlock();
      complete(now >= until ? timed_out("") : health_->aborted());
      lock.lock();
      continue;
    }
    cv_.wait_for(lock, std::min<Clock::duration>(until - now, kLook));
  }
  if (exception_) {
    std::rethrow_exception(exception_);
  }
  return true;
}

void WorkMCCL::synchronize() {
  wait(kNoTimeout);
}

void WorkMCCL::abort() {
  health_->fail(c10d::ErrorType::COMM_ERROR, describe() + " was aborted");
}

std::vector<at::Tensor> WorkMCCL::result() {
  return facts_.outputs;
}

c10::intrusive_ptr<Future> WorkMCCL::getFuture() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (future_ == nullptr) {
    future_ = make_future(facts_.device);
    if (completed_) {
      settled_ = true;
      const auto future = future_;
      const auto error = exception_;
      lock.unlock();
      settle(*future, error, facts_.outputs);
      return future;
    }
  }
  return future_;
}

uint64_t WorkMCCL::getSequencenumber() const {
  return facts_.sequence;
}

float WorkMCCL::getDuration() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(completed_, "getDuration can only be called after the work has finished");
  return std::chrono::duration<float, std::milli>(finished_ - asked_).count();
}

JoinedWork::JoinedWork(std::vector<c10::intrusive_ptr<c10d::Work>> parts, int rank, c10::Device device)
    : Work(rank, c10d::OpType::COALESCED), parts_(std::move(parts)), device_(device) {}

bool JoinedWork::isCompleted() {
  return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->isCompleted(); });
}

bool JoinedWork::isSuccess() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->isSuccess(); });
}

std::exception_ptr JoinedWork::exception() const {
  for (const auto& part : parts_) {
    if (auto error = part->exception()) {
      return error;
    }
  }
  return nullptr;
}

bool JoinedWork::wait(Milliseconds timeout) {
  for (const auto& part : parts_) {
    part->wait(timeout);
  }
  return true;
}

void JoinedWork::synchronize() {
  wait(kNoTimeout);
}

void JoinedWork::abort() {
  for (const auto& part : parts_) {
    part->abort();
  }
}

std::vector<at::Tensor> JoinedWork::result() {
  std::vector<at::Tensor> all;
  for (const auto& part : parts_) {
    const auto some = part->result();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

c10::intrusive_ptr<Future> JoinedWork::getFuture() {
  auto future = make_future(device_);
  const auto self = c10::intrusive_ptr<JoinedWork>::unsafe_reclaim_from_nonowning(this);
  run_elsewhere([self, future] {
    std::exception_ptr error;
    try {
      self->wait(kNoTimeout);
    } catch (...) {
      error = std::current_exception();
    }
    settle(*future, error, self->result());
  });
  return future;
}

} // namespace musasim::mccl
