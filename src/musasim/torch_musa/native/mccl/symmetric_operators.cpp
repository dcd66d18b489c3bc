#include "symmetric_memory.h"

#if MUSASIM_HAS_SYMMETRIC_MEMORY
#include "../runtime/device.h"
#include "../runtime/release.h"

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/symm_mem/SymmetricMemory.hpp>
#include <torch/library.h>

#include <limits>
#include <string>

namespace musasim::mccl {
namespace {

using c10d::symmetric_memory::SymmetricMemory;
using SymmetricPtr = c10::intrusive_ptr<SymmetricMemory>;

SymmetricPtr meet(const char* operation, const at::Tensor& input, const std::string& group_name) {
  auto memory = c10d::symmetric_memory::rendezvous(input, group_name);
  TORCH_CHECK(memory != nullptr, operation, ": the input has to be allocated by torch.distributed._symmetric_memory.empty()");
  return memory;
}

// The tensor of the same place in a rank's memory.
at::Tensor at_rank(const SymmetricPtr& memory, int rank, const at::Tensor& like) {
  char* base = static_cast<char*>(memory->get_buffer_ptrs().at(static_cast<size_t>(rank)));
  char* mine = static_cast<char*>(memory->get_buffer_ptrs().at(static_cast<size_t>(memory->get_rank())));
  char* data = base + (static_cast<char*>(like.data_ptr()) - mine);
  return at::from_blob(data, like.sizes(), like.strides(), [](void*) {}, like.options(), like.device());
}

void check_sum(const char* operation, const at::Tensor& input, const std::string& reduce_op) {
  TORCH_CHECK(input.is_contiguous(), operation, ": the input has to be contiguous");
  TORCH_CHECK(reduce_op == "sum", operation, ": only sum is supported, but got ", reduce_op);
}

// The copy engine adds up float32 and bfloat16, 4 bytes at a time.
void check_atomic(const char* operation, const at::Tensor& input) {
  const auto type = input.scalar_type();
  TORCH_CHECK(
      type == at::kFloat || type == at::kBFloat16, operation, ": only float and bfloat16 are supported, but got ", type);
  TORCH_CHECK(
      (input.storage_offset() * input.element_size()) % 4 == 0 && input.nbytes() % 4 == 0,
      operation, ": the input and its place must be a multiple of 4 bytes");
}

void check_alike(const char* operation, const at::Tensor& output, const at::Tensor& input) {
  TORCH_CHECK(output.is_contiguous(), operation, ": the output has to be contiguous");
  TORCH_CHECK(output.scalar_type() == input.scalar_type() && output.sizes() == input.sizes(),
      operation, ": the output has to be like the input, ", input.scalar_type(), input.sizes(), ", but is ",
      output.scalar_type(), output.sizes());
}

// The memory that all ranks have, for a sum into `output`; null where there is nothing to add up.
SymmetricPtr memory_of_a_sum(
    const char* operation, const at::Tensor& input, const std::string& op, const std::string& group, const at::Tensor& output) {
  check_sum(operation, input, op);
  check_alike(operation, output, input);
  if (input.numel() == 0) {
    return nullptr;
  }
  auto memory = meet(operation, input, group);
  check_atomic(operation, input);
  return memory;
}

// Each rank begins with its own part, in the type of the tensors, as the copy engine's additions do.
void add_up(const SymmetricPtr& memory, const at::Tensor& input, const at::Tensor& output) {
  memory->barrier(0, 0);
  output.zero_();
  for (int step = 0; step < memory->get_world_size(); ++step) {
    const int rank = (memory->get_rank() + step) % memory->get_world_size();
    output.add_(at_rank(memory, rank, input));
  }
  memory->barrier(0, 0);
}

at::Tensor one_shot_into(
    const at::Tensor& input, const std::optional<at::Tensor>& local, const std::string& op, const std::string& group, at::Tensor output) {
  constexpr const char* kName = "one_shot_all_reduce";
  const auto memory = memory_of_a_sum(kName, input, op, group, output);
  if (memory == nullptr) {
    return output;
  }
  TORCH_CHECK(output.data_ptr() != input.data_ptr(), kName, ": the output must not be the input; use two_shot_all_reduce_");
  if (local.has_value()) {
    TORCH_CHECK(local->is_contiguous() && local->scalar_type() == input.scalar_type() && local->numel() == input.numel(),
        kName, ": the local input has to be like the symmetric one");
    input.view(-1).copy_(local->view(-1));
  }
  add_up(memory, input, output);
  return output;
}

at::Tensor one_shot(const at::Tensor& input, std::string op, std::string group) {
  return one_shot_into(input, std::nullopt, op, group, at::empty_like(input));
}

at::Tensor one_shot_out(const at::Tensor& input, std::string op, std::string group, at::Tensor output) {
  return one_shot_into(input, std::nullopt, op, group, output);
}

at::Tensor one_shot_copy(const at::Tensor& input, const at::Tensor& local, std::string op, std::string group) {
  return one_shot_into(input, local, op, group, at::empty_like(local));
}

at::Tensor one_shot_copy_out(
    const at::Tensor& input, const at::Tensor& local, std::string op, std::string group, at::Tensor output) {
  return one_shot_into(input, local, op, group, output);
}

at::Tensor two_shot_out(at::Tensor input, std::string op, std::string group, at::Tensor output) {
  const auto memory = memory_of_a_sum("two_shot_all_reduce", input, op, group, output);
  if (memory == nullptr) {
    return output;
  }
  add_up(memory, input, output);
  return output;
}

at::Tensor two_shot(at::Tensor input, std::string op, std::string group) {
  const auto sum = two_shot_out(input, op, group, at::empty_like(input));
  if (input.numel() != 0) {
    input.copy_(sum);
    meet("two_shot_all_reduce", input, group)->barrier(0, 0);
  }
  return input;
}

at::Tensor reduce_scatter(at::Tensor input, std::string group, bool split_last_dim, at::Tensor output) {
  constexpr const char* kName = "reduce_scatter";
  check_sum(kName, input, "sum");
  const auto memory = meet(kName, input, group);
  check_atomic(kName, input);
  const int64_t ranks = memory->get_world_size();
  const int64_t dim = split_last_dim ? input.dim() - 1 : 0;
  TORCH_CHECK(split_last_dim || (input.dim() == 1 && output.dim() == 1), kName, ": expected tensors of one dimension");
  TORCH_CHECK(input.size(dim) % ranks == 0, kName, ": ", input.size(dim), " elements cannot be divided among ", ranks, " ranks");
  const auto sum = at::empty_like(input);
  add_up(memory, input, sum);
  const auto mine = sum.chunk(ranks, dim).at(static_cast<size_t>(memory->get_rank()));
  TORCH_CHECK(output.is_contiguous() && output.scalar_type() == input.scalar_type() && output.sizes() == mine.sizes(),
      kName, ": the output has to be ", mine.sizes(), " of ", input.scalar_type());
  return output.copy_(mine);
}

// What torch_musa has instead of torch's operators of these names, which are written in Python. They write into their first tensor.
void all_gather(at::Tensor& output, at::Tensor& input, const std::string& group) {
  const auto memory = meet("low_contention_all_gather", input, group);
  const auto parts = output.chunk(memory->get_world_size());
  memory->barrier(0, 0);
  for (int rank = 0; rank < memory->get_world_size(); ++rank) {
    parts.at(static_cast<size_t>(rank)).copy_(at_rank(memory, rank, input));
  }
  memory->barrier(0, 0);
}

void check_low_contention(const at::Tensor& output, const at::Tensor& input, int64_t ranks, const std::string& op) {
  const auto type = output.scalar_type();
  TORCH_CHECK(op == "sum" || op == "avg", "low_contention_reduce_scatter: expected sum or avg, but got ", op);
  TORCH_CHECK(type == at::kFloat || type == at::kBFloat16 || type == at::kHalf,
      "low_contention_reduce_scatter: expected float, bfloat16 or float16, but got ", type);
  TORCH_CHECK(input.numel() == output.numel() * ranks && input.scalar_type() == type,
      "low_contention_reduce_scatter: the input has to have ", ranks, " times the elements of the output, in its type");
  TORCH_CHECK(input.is_contiguous() && output.is_contiguous(), "low_contention_reduce_scatter: tensors have to be contiguous");
}

// Pulls what the others have, or pushes to them where the output is shared and the input is not.
void low_contention_reduce_scatter(at::Tensor& output, at::Tensor& input, const std::string& op, const std::string& group) {
  const auto shared_input = c10d::symmetric_memory::rendezvous(input, group);
  const auto memory = shared_input ? shared_input : meet("low_contention_reduce_scatter", output, group);
  const int64_t ranks = memory->get_world_size(), mine = memory->get_rank();
  check_low_contention(output, input, ranks, op);
  output.zero_();
  memory->barrier(0, 0);
  for (int64_t step = 0; step < ranks; ++step) {
    const auto rank = static_cast<int>((mine + step) % ranks);
    if (shared_input) {
      output.view(-1).add_(at_rank(memory, rank, input).view(-1).chunk(ranks).at(static_cast<size_t>(mine)));
    } else {
      at_rank(memory, rank, output).view(-1).add_(input.view(-1).chunk(ranks).at(static_cast<size_t>(rank)));
      memory->barrier(0, 0); // one rank at a time adds to a place
    }
  }
  memory->barrier(0, 0);
  if (op == "avg") {
    output.div_(ranks);
  }
}

at::Tensor async_input_mm(at::Tensor a, at::Tensor b, at::Tensor /*signals*/, int64_t /*pivot*/) {
  return at::mm(a, b); // as torch_musa's: without regard to the signals
}

at::Tensor words(const char* operation, const at::Tensor& input, int64_t offset, int64_t value, int64_t count) {
  TORCH_CHECK(input.dim() == 1 && input.is_contiguous() && input.scalar_type() == at::kUInt32,
      operation, ": the input has to be a contiguous uint32 tensor of one dimension");
  TORCH_CHECK(offset >= 0 && count > 0 && offset + count <= input.numel(),
      operation, ": ", count, " elements from ", offset, " on are not within the ", input.numel(), " of the input");
  TORCH_CHECK(value >= 0 && value <= std::numeric_limits<uint32_t>::max(), operation, ": ", value, " is not a uint32");
  return input.narrow(0, offset, count);
}

at::Tensor memset32(at::Tensor& input, int64_t offset, int64_t value, int64_t count) {
  words("symm_mem::memset32_", input, offset, value, count).fill_(value);
  return input;
}

at::Tensor stream_write_value32(at::Tensor& input, int64_t offset, int64_t value) {
  words("symm_mem::stream_write_value32_", input, offset, value, 1).fill_(value);
  return input;
}

torch::Library& library(torch::Library::Kind kind, std::optional<c10::DispatchKey> key) {
  return *new torch::Library(kind, "symm_mem", key, __FILE__, __LINE__); // as long as the process
}

// 2.9.1.post1's.
void register_low_contention() {
  auto& names = library(torch::Library::FRAGMENT, std::nullopt);
  names.def("low_contention_all_gather(Tensor output_tensor, Tensor input_tensor, str group_name) -> ()");
  names.def(
      "low_contention_reduce_scatter(Tensor output_tensor, Tensor input_tensor, str reduce_op, str group_name) -> ()");
  auto& kernels = library(torch::Library::IMPL, c10::DispatchKey::PrivateUse1);
  kernels.impl("low_contention_all_gather", all_gather);
  kernels.impl("low_contention_reduce_scatter", low_contention_reduce_scatter);
}

// 2.11.0.post2's. It has none that multicasts.
void register_all_reduce() {
  auto& kernels = library(torch::Library::IMPL, c10::DispatchKey::PrivateUse1);
  kernels.impl("one_shot_all_reduce", one_shot);
  kernels.impl("one_shot_all_reduce_out", one_shot_out);
  kernels.impl("one_shot_all_reduce_copy", one_shot_copy);
  kernels.impl("one_shot_all_reduce_copy_out", one_shot_copy_out);
  kernels.impl("two_shot_all_reduce_", two_shot);
  kernels.impl("two_shot_all_reduce_out", two_shot_out);
  kernels.impl("reduce_scatter_out", reduce_scatter);
  kernels.impl("_async_input_mm", async_input_mm);
  kernels.impl("memset32_", memset32);
  kernels.impl("stream_write_value32_", stream_write_value32);
}

} // namespace

void register_symmetric_operators() {
  register_low_contention();
  if (since(Release::v2_11_0)) {
    register_all_reduce();
  }
}

} // namespace musasim::mccl
#else
void musasim::mccl::register_symmetric_operators() {}
#endif
