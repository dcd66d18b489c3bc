#include "error.h"

#include <c10/util/Exception.h>

namespace musasim::mccl {
namespace {

constexpr std::chrono::hours kLongest{24 * 365 * 10};

bool mentions(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    if (text.find(word) != std::string::npos) {
      return true;
    }
  }
  return false;
}

} // namespace

std::chrono::milliseconds remaining(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return std::max(left, std::chrono::milliseconds(1));
}

Deadline after(std::chrono::milliseconds timeout) {
  return Clock::now() + std::min<std::chrono::milliseconds>(timeout, kLongest);
}

void Health::fail(c10d::ErrorType error, const std::string& reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (good()) {
    reason_ = reason;
    error_ = error;
  }
}

void Health::check() const {
  if (C10_UNLIKELY(!good())) {
    std::rethrow_exception(aborted());
  }
}

std::exception_ptr Health::aborted() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return backend_error(c10::str(
      "MCCL communicator was aborted on rank ", rank_, ". Original reason for failure was: ", reason_));
}

Failure explain(const std::string& from_transport) {
  if (mentions(from_transport, {"imed out", "timeout"})) {
    return {c10d::ErrorType::TIMEOUT, from_transport};
  }
  const bool remote = mentions(from_transport, {"onnection", "roken pipe", "ocket", "peer"});
  return {
      remote ? c10d::ErrorType::REMOTE_ERROR : c10d::ErrorType::COMM_ERROR,
      c10::str(
          remote ? "MCCL error: remote process exited or there was a network error\n"
                   "mcclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."
                 : "MCCL error: internal error - please report this issue to the MCCL developers\n"
                   "mcclInternalError: Internal check failed.",
          "\nLast error:\n",
          from_transport)};
}

std::string timeout_text(int rank, const std::string& work, std::chrono::milliseconds ran) {
  return c10::str(
      "[Rank ",
      rank,
      "] Watchdog caught collective operation timeout: ",
      work,
      " ran for ",
      ran.count(),
      " milliseconds before timing out.");
}

std::exception_ptr backend_error(const std::string& text) {
  return std::make_exception_ptr(C10_BUILD_ERROR(DistBackendError, text));
}

} // namespace musasim::mccl
