#pragma once

#include "error.h"
#include "tensors.h"

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <vector>

namespace musasim::mccl {

// The transport: gloo, on tensors of the host. Every call blocks until it is done, at most until its deadline.
class Gloo {
 public:
  // Connects to the other ranks, which have to arrive within `timeout`.
  Gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, std::chrono::milliseconds timeout);

  int rank() const {
    return backend_->getRank();
  }
  int size() const {
    return backend_->getSize();
  }

  std::vector<int64_t> allgather_numbers(const std::vector<int64_t>& mine, Deadline deadline);
  void allreduce(at::Tensor tensor, c10d::ReduceOp::RedOpType op, Deadline deadline);
  // Overwrites the tensor of every rank. Only the root's holds the result.
  void reduce(at::Tensor tensor, c10d::ReduceOp::RedOpType op, int64_t root, Deadline deadline);
  void broadcast(at::Tensor tensor, int64_t root, Deadline deadline);
  void allgather(Tensors outputs, at::Tensor input, Deadline deadline);
  void exchange(
      at::Tensor output, at::Tensor input, std::vector<int64_t> receives, std::vector<int64_t> sends, Deadline deadline);
  void send(at::Tensor tensor, int to, int tag, Deadline deadline);
  void receive(at::Tensor tensor, int from, int tag, Deadline deadline);

 private:
  c10::intrusive_ptr<c10d::Backend> backend_;
};

} // namespace musasim::mccl
