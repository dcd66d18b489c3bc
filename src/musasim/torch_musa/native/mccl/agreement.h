#pragma once

#include "gloo.h"

#include <torch/csrc/distributed/c10d/Work.hpp>

#include <string>
#include <vector>

namespace musasim::mccl {

// A rank's description of the operation that it is about to take part in.
struct Operation {
  c10d::OpType type = c10d::OpType::UNKNOWN;
  int64_t count = 0; // elements, the same on every rank
  at::ScalarType dtype = at::kByte;
  int reduction = -1;
  int64_t root = -1;
  std::vector<int64_t> shape; // of the tensor, for messages
  // Elements that go to, and are expected from, each rank, if these may differ.
  std::vector<int64_t> sends;
  std::vector<int64_t> receives;

  Operation(c10d::OpType type_) : type(type_) {}
  Operation(c10d::OpType type_, const at::Tensor& tensor);

  std::string describe() const;
  // Converts to numbers, whose length depends only on the number of ranks, and back.
  std::vector<int64_t> encode(int ranks) const;
  static Operation decode(const int64_t* numbers, int ranks);
  static size_t encoded_size(int ranks);
};

// Exchanges descriptions with the other ranks, and returns when all have arrived. Raises DistBackendError on every rank if
// the descriptions do not match. A device would hang or corrupt memory.
std::vector<Operation> agree(Gloo& gloo, const std::string& group, const Operation& mine, Deadline deadline);

} // namespace musasim::mccl
