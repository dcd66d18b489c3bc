#include "work.h"

#include "../runtime/stream.h"
#include "elsewhere.h"
#include "musart/driver.h"

#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <algorithm>

namespace musasim::mccl {
namespace {

using Future = c10::ivalue::Future;
using Milliseconds = std::chrono::milliseconds;

// A transport detects a timeout by itself, and its message says more than ours. It gets this much more time.
constexpr Milliseconds kGrace{1000};
// How often a waiting thread checks whether the communicator was aborted.
constexpr Milliseconds kLook{50};

c10::intrusive_ptr<Future> make_result() {
  return c10::make_intrusive<Future>(c10::AnyEnumType::get());
}

c10d::WorkResult result_of(const Completion& completion, const Health& health) {
  if (completion.error() == nullptr) {
    return c10d::WorkResult::SUCCESS;
  }
  return health.error() == c10d::ErrorType::TIMEOUT ? c10d::WorkResult::TIMEOUT : c10d::WorkResult::COMM_ERROR;
}

c10::intrusive_ptr<Future> make_future(c10::Device device) {
  // The future knows the device, because DDP takes the tensors for its buckets out of it.
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

// What wait() has met needs no wait_tensor() any more, as in torch_musa.
void forget(c10d::Work& work) {
  if (c10d::allow_inflight_collective_as_graph_input()) {
    c10d::unregister_work(c10::intrusive_ptr<c10d::Work>::unsafe_reclaim_from_nonowning(&work));
  }
}

[[noreturn]] void refuse_is_success() {
  C10_THROW_ERROR(NotImplementedError, "WorkMCCL::isSuccess() is deprecated");
}

std::string describe(const WorkMCCL::Facts& facts) {
  return c10::str(
      "WorkMCCL(SeqNum=",
      facts.sequence,
      ", OpType=",
      c10d::opTypeToString(facts.type),
      ", NumelIn=",
      elements(facts.inputs),
      ", NumelOut=",
      elements(facts.outputs),
      ", Timeout(ms)=",
      facts.timeout.count(),
      ")");
}

} // namespace

void Completion::complete(std::exception_ptr error) {
  std::vector<std::function<void()>> callbacks;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (done_) {
      return; // aborted meanwhile
    }
    done_ = true;
    error_ = std::move(error);
    finished_ = Clock::now();
    callbacks.swap(callbacks_);
  }
  changed_.notify_all();
  for (const auto& callback : callbacks) {
    callback();
  }
}

bool Completion::done() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return done_;
}

std::exception_ptr Completion::error() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return error_;
}

Clock::time_point Completion::finished() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return finished_;
}

bool Completion::wait(Clock::time_point until) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(lock, until, [this] { return done_; });
}

void Completion::then(std::function<void()> callback) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!done_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

std::exception_ptr WorkMCCL::Story::failed(const std::exception& error) const {
  const auto failure = explain(text_of(error));
  if (failure.type == c10d::ErrorType::TIMEOUT) {
    return timed_out(failure.reason);
  }
  const auto text = c10::str(operation, ": ", failure.reason);
  health->fail(failure.type, text);
  return backend_error(text);
}

std::exception_ptr WorkMCCL::Story::timed_out(const std::string& detail) const {
  const auto ran = std::chrono::duration_cast<Milliseconds>(Clock::now() - asked);
  auto text = timeout_text(rank, operation, ran);
  if (!detail.empty()) {
    text += "\nLast error:\n" + detail;
  }
  health->fail(c10d::ErrorType::TIMEOUT, text);
  return backend_error(text);
}

void WorkMCCL::Story::wait_for(Completion& completion, Clock::time_point until) const {
  while (!completion.wait(std::min<Clock::time_point>(until, Clock::now() + kLook))) {
    if (Clock::now() >= until) {
      completion.complete(timed_out(""));
    } else if (!health->good()) {
      completion.complete(health->aborted());
    }
  }
}

WorkMCCL::WorkMCCL(Facts facts, std::shared_ptr<Health> health)
    : Work(facts.rank, facts.type, facts.title.c_str(), facts.inputs),
      facts_(std::move(facts)),
      story_(std::make_shared<Story>(
          Story{.rank = facts_.rank, .operation = describe(facts_), .health = std::move(health)})),
      deadline_(after(facts_.timeout)) {
  musart::streamcheck::record_known(known_, stream_state(current_stream(facts_.device.index())));
  if (recordFunctionEndCallback_) {
    completion_->then(recordFunctionEndCallback_);
  }
}

std::function<void()> WorkMCCL::runner(std::function<void(Deadline)> job) {
  return [completion = completion_, story = story_, deadline = deadline_, job = std::move(job)]() mutable {
    std::exception_ptr error;
    try {
      story->health->check();
      const musart::DeviceWork work;
      job(deadline);
    } catch (const c10::DistBackendError&) {
      error = std::current_exception(); // ours already: the ranks disagree, or the communicator is gone
    } catch (const std::exception& failure) {
      error = story->failed(failure);
    }
    job = nullptr; // releases its tensors before a waiting thread continues and counts memory
    completion->complete(error);
  };
}

void WorkMCCL::begin_on_device() {
  auto wait = [completion = completion_, story = story_, known = known_, until = deadline_ + kGrace, raises = facts_.settings.raises_late_errors] {
    story->wait_for(*completion, until);
    musart::streamcheck::host_knows(known);
    if (auto error = completion->error(); error && raises) {
      raise_after_wait(std::move(error));
    }
  };
  const auto work = musart::begin_elsewhere(facts_.device.index(), std::move(wait));
  completion_->then([work] { musart::end_elsewhere(work); });
}

bool WorkMCCL::isCompleted() {
  if (!completion_->done() && !story_->health->good()) {
    completion_->complete(story_->health->aborted());
  }
  const bool done = completion_->done();
  if (done) {
    musart::streamcheck::host_knows(known_);
  }
  return done;
}

bool WorkMCCL::isSuccess() const {
  refuse_is_success();
}

std::exception_ptr WorkMCCL::exception() const {
  return completion_->error();
}

bool WorkMCCL::wait(Milliseconds timeout) {
  // torch_musa looks for an error when the stream, not the host, begins to wait. Only a barrier holds the host.
  const bool goes_on = timeout == kNoTimeout && !facts_.settings.raises_late_errors &&
      facts_.type != c10d::OpType::BARRIER && !completion_->done();
  const auto until = timeout == kNoTimeout ? deadline_ + kGrace : after(timeout);
  story_->wait_for(*completion_, until);
  musart::streamcheck::stream_learns(stream_state(current_stream(facts_.device.index())), known_);
  if (timeout != kNoTimeout || facts_.type == c10d::OpType::BARRIER) {
    musart::streamcheck::host_knows(known_);
  }
  forget(*this);
  if (const auto error = completion_->error(); error && !goes_on) {
    std::rethrow_exception(error);
  }
  return true;
}

void WorkMCCL::synchronize() {
  wait(kNoTimeout);
}

void check_blocks_streams() {
  TORCH_CHECK(Settings::since_2_9_1, "Failed to create StreamBlock");
}

void WorkMCCL::blockCurrentStream() {
  check_blocks_streams();
  synchronize();
}

void WorkMCCL::abort() {
  story_->health->fail(c10d::ErrorType::COMM_ERROR, story_->operation + " was aborted");
}

std::vector<at::Tensor> WorkMCCL::result() {
  return facts_.outputs;
}

c10::intrusive_ptr<Future> WorkMCCL::getFuture() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (future_ != nullptr) {
      return future_;
    }
    future_ = make_future(facts_.device);
  }
  at_the_end([future = future_, completion = completion_, outputs = facts_.outputs] {
    settle(*future, completion->error(), outputs);
  });
  return future_;
}

c10::intrusive_ptr<Future> WorkMCCL::getFutureResult() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (result_ != nullptr) {
      return result_;
    }
    result_ = make_result();
  }
  at_the_end([future = result_, completion = completion_, health = story_->health] {
    future->markCompleted(c10::IValue(static_cast<int64_t>(result_of(*completion, *health))));
  });
  return result_;
}

void WorkMCCL::at_the_end(std::function<void()> settle_future) {
  auto settle = [settle_future = std::move(settle_future), known = known_] {
    musart::streamcheck::host_knows(known); // whoever waits for a future does so in many ways
    settle_future();
  };
  if (completion_->done()) {
    settle();
  } else {
    completion_->then([settle = std::move(settle)] { run_elsewhere(settle); });
  }
}

uint64_t WorkMCCL::getSequencenumber() const {
  return facts_.sequence;
}

float WorkMCCL::getDuration() const {
  TORCH_CHECK(facts_.settings.timed, "getDuration only works if timing was enabled");
  TORCH_CHECK(completion_->done(), "getDuration can only be called after the work has finished");
  return std::chrono::duration<float, std::milli>(completion_->finished() - story_->asked).count();
}

JoinedWork::JoinedWork(std::vector<c10::intrusive_ptr<c10d::Work>> parts, int rank, c10::Device device)
    : Work(rank, c10d::OpType::COALESCED), parts_(std::move(parts)), device_(device) {}

bool JoinedWork::isCompleted() {
  return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->isCompleted(); });
}

bool JoinedWork::isSuccess() const {
  refuse_is_success();
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
  forget(*this);
  return true;
}

void JoinedWork::synchronize() {
  wait(kNoTimeout);
}

void JoinedWork::blockCurrentStream() {
  check_blocks_streams();
  synchronize();
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

c10::intrusive_ptr<Future> JoinedWork::getFutureResult() {
  auto future = make_result();
  const auto self = c10::intrusive_ptr<JoinedWork>::unsafe_reclaim_from_nonowning(this);
  run_elsewhere([self, future] {
    int64_t worst = 0;
    for (const auto& part : self->parts_) {
      const auto result = part->getFutureResult();
      result->wait();
      worst = std::max(worst, result->value().toInt());
    }
    future->markCompleted(c10::IValue(worst));
  });
  return future;
}

} // namespace musasim::mccl
