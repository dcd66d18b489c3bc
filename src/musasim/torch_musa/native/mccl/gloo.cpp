#include "gloo.h"

#include <ATen/ATen.h>
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

namespace musasim::mccl {
namespace {

namespace py = pybind11;

// PyTorch's wheels do not contain gloo's headers, but its Python class creates the object we need.
c10::intrusive_ptr<c10d::Backend> connect(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, std::chrono::milliseconds timeout) {
  const py::gil_scoped_acquire gil;
  const auto c10d = py::module_::import("torch._C._distributed_c10d");
  TORCH_CHECK(
      py::hasattr(c10d, "ProcessGroupGloo"),
      "musasim: mccl is simulated by gloo, and this build of PyTorch has no gloo");
  return c10d.attr("ProcessGroupGloo")(store, rank, size, py::arg("timeout") = timeout)
      .cast<c10::intrusive_ptr<c10d::Backend>>();
}

void wait(const c10::intrusive_ptr<c10d::Work>& work, Deadline deadline) {
  work->wait(remaining(deadline));
}

template <typename Options>
Options until(Deadline deadline) {
  Options options;
  options.timeout = remaining(deadline);
  return options;
}

} // namespace

Gloo::Gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, std::chrono::milliseconds timeout)
    : backend_(connect(store, rank, size, timeout)) {}

std::vector<int64_t> Gloo::allgather_numbers(const std::vector<int64_t>& mine, Deadline deadline) {
  const auto length = static_cast<int64_t>(mine.size());
  const auto input = at::tensor(mine, at::kLong);
  const auto all = at::empty({size(), length}, at::kLong);
  allgather(all.unbind(), input, deadline);
  const auto* numbers = all.const_data_ptr<int64_t>();
  return {numbers, numbers + all.numel()};
}

void Gloo::allreduce(at::Tensor tensor, c10d::ReduceOp::RedOpType op, Deadline deadline) {
  Tensors tensors = {std::move(tensor)};
  auto options = until<c10d::AllreduceOptions>(deadline);
  options.reduceOp = op;
  wait(backend_->allreduce(tensors, options), deadline);
}

void Gloo::reduce(at::Tensor tensor, c10d::ReduceOp::RedOpType op, int64_t root, Deadline deadline) {
  Tensors tensors = {std::move(tensor)};
  auto options = until<c10d::ReduceOptions>(deadline);
  options.reduceOp = op;
  options.rootRank = root;
  wait(backend_->reduce(tensors, options), deadline);
}

void Gloo::broadcast(at::Tensor tensor, int64_t root, Deadline deadline) {
  Tensors tensors = {std::move(tensor)};
  auto options = until<c10d::BroadcastOptions>(deadline);
  options.rootRank = root;
  wait(backend_->broadcast(tensors, options), deadline);
}

void Gloo::allgather(Tensors outputs, at::Tensor input, Deadline deadline) {
  std::vector<Tensors> all = {std::move(outputs)};
  Tensors mine = {std::move(input)};
  wait(backend_->allgather(all, mine, until<c10d::AllgatherOptions>(deadline)), deadline);
}

void Gloo::exchange(
    at::Tensor output, at::Tensor input, std::vector<int64_t> receives, std::vector<int64_t> sends, Deadline deadline) {
  wait(backend_->alltoall_base(output, input, receives, sends, until<c10d::AllToAllOptions>(deadline)), deadline);
}

void Gloo::send(at::Tensor tensor, int to, int tag, Deadline deadline) {
  Tensors tensors = {std::move(tensor)};
  wait(backend_->send(tensors, to, tag), deadline);
}

void Gloo::receive(at::Tensor tensor, int from, int tag, Deadline deadline) {
  Tensors tensors = {std::move(tensor)};
  wait(backend_->recv(tensors, from, tag), deadline);
}

} // namespace musasim::mccl
