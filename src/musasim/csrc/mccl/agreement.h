#pragma once

#include "gloo.h"

#include <torch/csrc/distributed/c10d/Work.hpp>

#include <string>
#include <vector>

namespace musasim::mccl {

// What a rank says of the operation it is about to take part in.
struct Operation {
  c10d::OpType type = c10d::OpType::UNKNOWN;
  int64_t count = 0; // elements, the same on every rank
  at::ScalarType dtype = at::kByte;
  int reduction = -1;
  int64_t root = -1;
  std::vector<int64_t> shape; // of the tensor, for people
  // Elements that go to, and are expected from, each rank, where these may differ.
  std::vector<int64_t> sends;
  std::vector<int64_t> receives;

  Operation(c10d::OpType type_) : type(type_) {}
  Operation(c10d::OpType type_, const at::Tensor& tensor);

  std::string describe() const;
  // Numbers of a length that depends on the number of ranks alone, and back.
  std::vector<int64_t> encode(int ranks) const;
  static Operation decode(const int64_t* numbers, int ranks);
  static size_t encoded_size(int ranks);
};

// Tells the others and hears from them; returns when all have come. Raises DistBackendError, on every rank, where what
// they are about to do does not fit together: a device would hang, or mix up memory.
std::vector<Operation> agree(Gloo& gloo, const std::string& group, const Operation& mine, Deadline deadline);

} // namespace musasim::mccl
