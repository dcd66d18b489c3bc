// A rank's side of a communicator, and the operations on it.
#pragma once

#include "wire.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace musasim::libmccl {

// What a rank multiplies its numbers by before they are summed: `number` itself, or the device's memory where it is read later.
struct Factor {
  mcclDataType_t type;
  const void* memory;
  char number[8];

  const void* value() const {
    return memory != nullptr ? memory : number;
  }
};

struct Operation {
  Call call;
  const char* from; // nullptr where nothing is read
  char* to; // nullptr where nothing is written
  int peer; // of a message
  musaStream_t stream;
  std::shared_ptr<const Factor> factor{}; // kept for as long as a graph may need it
};

class Communicator {
 public:
  Communicator(int rank, int ranks, int device, std::string name)
      : rank(rank), ranks(ranks), device(device), name_(std::move(name)), wire_(rank, ranks) {}

  const int rank;
  const int ranks;
  const int device;

  mcclResult_t connect();
  // Has the next operation do it, in which all ranks take part.
  void connect_later() {
    is_late_ = true;
  }

  // Does collectives in their order, and after them all messages at once. The first failure is the answer to all that follows.
  mcclResult_t run(const std::vector<Operation>& operations);

  // Whether the operation can be done: its root, its type, and its memory, which has to be this device's.
  mcclResult_t check(const Operation& operation);

  // Operations of the user's own, by their handles.
  mcclRedOp_t keep(const Factor& factor);
  bool forget(mcclRedOp_t op);
  std::shared_ptr<const Factor> factor(mcclRedOp_t op);

  mcclResult_t state() const {
    return state_;
  }
  void abort() {
    state_ = mcclInternalError;
    wire_.abort();
  }

 private:
  mcclResult_t settle(const Failure& failure);
  Failure collective(const Operation& operation);
  Failure multiplied(const Operation& operation);
  Failure all_reduce(const Operation& operation);
  Failure reduce_parts(const Operation& operation, const std::vector<Piece>& sends, char* own, char* into);
  Failure messages(const std::vector<Operation>& operations);
  std::vector<Piece> to_others(const Operation& operation, size_t each, bool different) const;
  size_t bytes_read(const Operation& operation) const;
  size_t bytes_written(const Operation& operation) const;

  const std::string name_;
  std::atomic<mcclResult_t> state_{mcclSuccess};
  std::mutex factors_mutex_;
  std::map<int, std::shared_ptr<const Factor>> factors_;
  int next_op_ = mcclNumOps;
  std::mutex mutex_; // of the wire
  bool is_late_ = false;
  Wire wire_;
};

// What went wrong last in this process.
std::string last_error();
mcclResult_t fail(mcclResult_t result, const std::string& reason);

} // namespace musasim::libmccl
