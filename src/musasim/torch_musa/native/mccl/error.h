#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <string>

namespace musasim::mccl {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

// The time left until then, for gloo. It is never zero, which gloo would take for "no limit".
std::chrono::milliseconds remaining(Deadline deadline);
// A time in the far future if the timeout is too long for the clock.
Deadline after(std::chrono::milliseconds timeout);

// Whether a communicator still works. The first failure is the reason for all later ones.
class Health {
 public:
  explicit Health(int rank) : rank_(rank) {}

  bool good() const {
    return error_.load() == c10d::ErrorType::SUCCESS;
  }
  c10d::ErrorType error() const {
    return error_.load();
  }
  void fail(c10d::ErrorType error, const std::string& reason);
  // Raises DistBackendError if the communicator is broken.
  void check() const;
  std::exception_ptr aborted() const;

 private:
  const int rank_;
  mutable std::mutex mutex_;
  std::string reason_;
  std::atomic<c10d::ErrorType> error_{c10d::ErrorType::SUCCESS};
};

// The exception of a transport, in the words of the library that it simulates.
struct Failure {
  c10d::ErrorType type = c10d::ErrorType::COMM_ERROR;
  std::string reason;
};
Failure explain(const std::string& from_transport);

std::string timeout_text(int rank, const std::string& work, std::chrono::milliseconds ran);
std::exception_ptr backend_error(const std::string& text);

} // namespace musasim::mccl
