// The connections between the ranks of a communicator: a socket between each two, named after the unique identifier.
#pragma once

#include "mccl.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace musasim::libmccl {

enum class Kind : uint32_t { AllReduce, Reduce, ReduceScatter, AllGather, Broadcast, Message };

// What a rank has called. Both ends of a transfer have to agree on it.
struct Call {
  Kind kind;
  uint32_t type;
  uint32_t op;
  uint32_t root;
  uint64_t count;

  bool operator==(const Call& other) const = default;
};

std::string described(const Call& call);

// A stretch of memory to or from another rank, or this one.
struct Piece {
  int peer;
  char* data;
  size_t bytes;
  Call call;
};

struct Failure {
  mcclResult_t result = mcclSuccess;
  std::string reason;

  explicit operator bool() const {
    return result != mcclSuccess;
  }
};

class Wire {
 public:
  Wire(int rank, int ranks) : rank_(rank), sockets_(static_cast<size_t>(ranks), -1) {}
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Waits until all ranks have connected.
  Failure connect(const std::string& name);

  // Does all transfers, in any order between different ranks, and in the order of the lists between two of them. After a failure
  // nothing is connected, so that no other rank waits for this one.
  Failure exchange(const std::vector<Piece>& sends, const std::vector<Piece>& receives);

  // Ends what is waiting, from another thread.
  void abort() {
    aborted_ = true;
  }

 private:
  Failure call_lower_ranks(const std::string& name, int64_t deadline);
  Failure answer_higher_ranks(int listener, int64_t deadline);
  Failure transfer(const std::vector<Piece>& sends, const std::vector<Piece>& receives);

  const int rank_;
  std::vector<int> sockets_; // by rank; -1 for this one
  std::atomic<bool> aborted_{false};
};

} // namespace musasim::libmccl
