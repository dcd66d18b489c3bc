#include "point_to_point.h"

#include "tensors.h"

#include <ATen/ATen.h>

namespace musasim::mccl {
namespace {

constexpr int kDescriptionTag = 1;
constexpr int kDataTag = 2;

at::Tensor described(const at::Tensor& tensor) {
  return at::tensor(Operation(c10d::OpType::SEND, tensor).encode(0), at::kLong);
}

Operation receive_description(Gloo& gloo, int from, Deadline deadline) {
  const auto numbers = at::empty({static_cast<int64_t>(Operation::encoded_size(0))}, at::kLong);
  gloo.receive(numbers, from, kDescriptionTag, deadline);
  return Operation::decode(numbers.const_data_ptr<int64_t>(), 0);
}

} // namespace

void send_message(Gloo& gloo, const at::Tensor& tensor, int to, Deadline deadline) {
  gloo.send(described(tensor), to, kDescriptionTag, deadline);
  if (tensor.numel() != 0) {
    gloo.send(bytes_on_host(tensor), to, kDataTag, deadline);
  }
}

void receive_message(Gloo& gloo, const std::string& group, const at::Tensor& tensor, int from, Deadline deadline) {
  const auto sent = receive_description(gloo, from, deadline);
  const Operation expected(c10d::OpType::RECV, tensor);
  const bool fits = sent.count == expected.count && sent.dtype == expected.dtype;
  if (sent.count != 0) {
    // A message that does not fit is received all the same, because the sender has sent it and the next one follows.
    const auto bytes = sent.count * static_cast<int64_t>(c10::elementSize(sent.dtype));
    gloo.receive(fits ? bytes_on_host(tensor) : at::empty({bytes}, at::kByte), from, kDataTag, deadline);
  }
  TORCH_CHECK_WITH(
      DistBackendError,
      fits,
      "MCCL: in process group ",
      group,
      " a message does not fit the tensor it is received into\n  rank ",
      from,
      ": ",
      sent.describe(),
      "\n  rank ",
      gloo.rank(),
      ": ",
      expected.describe());
}

} // namespace musasim::mccl
