#include "process_group.h"

#include "../runtime/capture.h"
#include "../runtime/launches.h"
#include "../runtime/device.h"
#include "../runtime/pluggable.h"
#include "../runtime/stream.h"
#include "../runtime/trace.h"
#include "kernel_name.h"
#include "point_to_point.h"
#include "refusals.h"
#include "tensors.h"

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Utils.hpp>

#include <algorithm>
#include <future>
#include <numeric>

namespace musasim::mccl {
namespace {

using c10d::OpType;
using Counts = std::vector<int64_t>;
using WorkPtr = ProcessGroupMCCL::WorkPtr;

constexpr std::chrono::milliseconds kNoOwnTimeout = c10d::kUnsetTimeout;

c10::Device device_of(const Tensors& inputs, const Tensors& outputs) {
  const auto& any = inputs.empty() ? outputs : inputs;
  return any.empty() ? c10::Device(kMusa, current_device()) : any[0].device();
}

Counts numels(const Tensors& tensors) {
  Counts counts;
  for (const auto& tensor : tensors) {
    counts.push_back(tensor.numel());
  }
  return counts;
}

Counts one_at(int64_t where, int64_t count, int ranks) {
  Counts counts(static_cast<size_t>(ranks), 0);
  counts[static_cast<size_t>(where)] = count;
  return counts;
}

Counts in_bytes(Counts counts, at::ScalarType dtype) {
  for (auto& count : counts) {
    count *= static_cast<int64_t>(c10::elementSize(dtype));
  }
  return counts;
}

int64_t total(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

Operation reduction(OpType type, const at::Tensor& tensor, const c10d::ReduceOp& op) {
  check_reduction(tensor, op, type == OpType::ALLREDUCE ? "all_reduce" : "reduce");
  Operation made(type, tensor);
  made.reduction = op.op_;
  return made;
}

void check_root(int64_t root, int ranks) {
  TORCH_CHECK_VALUE(root >= 0 && root < ranks, "invalid root rank: ", root);
}

// Elements to or from each rank of a tensor that is split along its first dimension.
Counts split_counts(const Counts& splits, const at::Tensor& tensor, int ranks) {
  c10d::checkSplitSizes(splits, tensor, ranks);
  const auto rows = tensor.size(0);
  const auto row = rows == 0 ? 0 : tensor.numel() / rows;
  Counts counts = splits.empty() ? Counts(static_cast<size_t>(ranks), rows / ranks) : splits;
  for (auto& count : counts) {
    count *= row;
  }
  return counts;
}

void check_same_type(const at::Tensor& output, const at::Tensor& input) {
  check_type(output.scalar_type() == input.scalar_type(), "output tensor must have the same type as input tensor");
}

bool same_everywhere(const std::vector<Operation>& all) {
  return std::all_of(all.begin(), all.end(), [&](const Operation& one) { return one.sends == all[0].sends; });
}

bool of_one_size(const Tensors& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const auto& part) { return part.sizes() == parts[0].sizes(); });
}

// One tensor for all parts, which torch_musa's all_gather makes if they have one size, and gives to those who ask the work.
at::Tensor stacked_like(const Tensors& parts) {
  auto sizes = parts[0].sizes().vec();
  sizes.insert(sizes.begin(), static_cast<int64_t>(parts.size()));
  return at::empty(sizes, parts[0].options());
}

void gather_alike(const Session& session, const at::Tensor& stacked, const Tensors& parts, const at::Tensor& input) {
  const auto received = bytes_on_host(stacked);
  session.gloo.allgather(received.chunk(session.gloo.size()), bytes_on_host(input), session.deadline);
  scatter_bytes(received, parts);
}

// Older releases keep these in the options of each backend.
template <typename From>
void take_names(ProcessGroupMCCL::Options& options, const From& from) {
  if constexpr (requires { from.group_name; }) {
    options.group_name = from.group_name;
    options.global_ranks_in_group = from.global_ranks_in_group;
  }
}

// Of a broadcast and a scatter, the root's input is the only one.
bool sends_its_inputs(const Operation& operation, int rank) {
  const bool from_the_root = operation.type == OpType::BROADCAST || operation.type == OpType::SCATTER;
  return !from_the_root || operation.root == rank;
}

void refuse_nan(const Tensors& inputs) {
  for (const auto& input : inputs) {
    const bool has_nan = at::isFloatingType(input.scalar_type()) && at::isnan(input).any().item<bool>();
    TORCH_CHECK(!has_nan, "MCCL NaN check failed: found NaN in input tensor.");
  }
}

size_t bytes_of(const Tensors& tensors) {
  size_t bytes = 0;
  for (const auto& tensor : tensors) {
    bytes += tensor.nbytes();
  }
  return bytes;
}

using Refuse = std::function<void(const std::string&)>;

Refuse refusing(const char* operation) {
  return [operation](const std::string& what) { check_value(false, "ProcessGroupMCCL::", operation, ": ", what); };
}

// The root's list of a gather or a scatter: one tensor for each rank, of the type and size of the root's own.
Tensors list_of_root(
    const std::vector<Tensors>& lists, const at::Tensor& own, const char* kind, int size, const Refuse& refuse) {
  if (lists.size() != 1) {
    refuse(c10::str("requires a single-element ", kind, " list containing a list with ", size, " tensors."));
  }
  const auto& parts = lists[0];
  if (parts.size() != static_cast<size_t>(size)) {
    const std::string name = kind[0] == 'o' ? "Output" : "Input";
    refuse(c10::str("Incorrect ", kind, " list size ", parts.size(), ". ", name, " list size should be ", size, ", same as size of the process group."));
  }
  c10d::assertTypeAndSizesMatch(refuse, parts, own.options(), own.sizes());
  check_tensors(parts);
  return parts;
}

std::string numbered(size_t count, int size) {
  return c10::str("Expected a list of ", size, " tensors, one for each rank, but got ", count);
}

} // namespace

ProcessGroupMCCL::ProcessGroupMCCL(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, OptionsPtr options)
    : Backend(rank, size),
      options_(std::move(options)),
      health_(std::make_shared<Health>(rank)),
      communicator_(std::make_shared<Communicator>(
          Communicator{health_, Gloo(store, rank, size, options_->timeout)})) {
  TORCH_CHECK(device_count() > 0, "ProcessGroupMCCL is only supported with GPUs, no GPUs found!");
  if (uid_ == 0) {
    world_rank_ = rank;
  }
  init();
}

uint64_t ProcessGroupMCCL::count_groups() {
  static std::atomic<uint64_t> groups{0};
  return groups++;
}

// ---- How an operation runs ----

WorkPtr ProcessGroupMCCL::collective(Request request, Body body) {
  ++sequence_;
  auto job = [communicator = communicator_, group = name(), operation = request.operation, body = std::move(body)](
                 Deadline deadline) {
    const auto all = agree(communicator->gloo, group, operation, deadline);
    Session session{communicator->gloo, all, deadline};
    body(session);
  };
  return submit(request, collectives_, std::move(job));
}

WorkPtr ProcessGroupMCCL::message(Request request, Lane& lane, std::function<void(Gloo&, Deadline)> body) {
  ++messages_sent_;
  return submit(request, lane, [communicator = communicator_, body = std::move(body)](Deadline deadline) {
    body(communicator->gloo, deadline);
  });
}

WorkPtr ProcessGroupMCCL::submit(const Request& request, Lane& lane, std::function<void(Deadline)> job) {
  refuse_after_fork();
  finish_launches();
  health_->check();
  if (settings_.finds_nan && sends_its_inputs(request.operation, getRank())) {
    refuse_nan(request.inputs);
  }
  const auto device = device_of(request.inputs, request.outputs);
  if (!request.inputs.empty() || !request.outputs.empty()) {
    check_bound(device);
  }
  used_ = true;
  const WorkMCCL::Facts facts = {
      request.operation.type,
      request.title,
      sequence_,
      getRank(),
      device,
      timeout_for(request.timeout),
      settings_,
      request.inputs,
      request.outputs};
  auto make = [facts, health = health_] { return c10::make_intrusive<WorkMCCL>(facts, health); };
  auto work = make();
  // On a device a kernel does it, on a stream of the communicator; for a rank that is alone, none does.
  const auto kernel = getSize() == 1 ? "" : kernel_name(request.operation, bytes_of(request.inputs));
  auto row_of = [kernel, stream = stream_on(device)](std::function<void(Deadline)> of) { return traced(kernel, stream, std::move(of)); };
  if (auto* capture = active_capture()) {
    auto replay = [make, row_of, job] {
      const auto replayed = make();
      replayed->runner(row_of(job))();
      replayed->wait(kNoTimeout);
    };
    if (coalesced_.has_value()) {
      captured_.push_back(std::move(replay));
      coalesced_->push_back(work);
    } else {
      capture->add_at_once(request.title, std::move(replay));
    }
    work->runner([](Deadline) {})();
    return work;
  }
  if (ephemeral_owned_ != 0) {
    work->then([active = ephemeral_, owned = std::exchange(ephemeral_owned_, 0)] { *active -= owned; });
  }
  // It starts when its stream reaches it.
  const auto ready = completion_ns(current_stream(device.index()));
  const auto times = record(request, &lane != &collectives_);
  if (times != nullptr) {
    work->then([times] { times->completed = unix_time_ns(); });
  }
  work->begin_on_device();
  lane.push([ready, times, run = work->runner(row_of(std::move(job)))]() mutable {
    wait_until(ready);
    if (times != nullptr) {
      times->started = unix_time_ns();
    }
    run();
  });
  if (coalesced_.has_value()) {
    coalesced_->push_back(work);
  }
  return work;
}

// The job, which leaves its row in a profile that is being recorded.
std::function<void(Deadline)> ProcessGroupMCCL::traced(
    std::string kernel, c10::Stream stream, std::function<void(Deadline)> job) {
  if (!is_tracing() || kernel.empty()) {
    return job;
  }
  return [kernel = std::move(kernel), stream, launch = launched_elsewhere("musaLaunchKernel"), job = std::move(job)](
             Deadline deadline) {
    const auto start = now_ns();
    job(deadline);
    trace_elsewhere(kernel, stream, start, now_ns(), launch);
  };
}

c10::Stream ProcessGroupMCCL::stream_on(at::Device device) {
  if (!stream_.has_value() || stream_->device() != device) {
    stream_ = pool_stream(device.index(), options_->is_high_priority_stream ? kHighestPriority : 0);
  }
  return *stream_;
}

std::shared_ptr<FlightTimes> ProcessGroupMCCL::record(const Request& request, bool is_message) {
  Flight flight;
  flight.group = uid_;
  flight.group_name = {getGroupUid(), getGroupDesc()};
  flight.collective = sequence_;
  flight.message = messages_sent_;
  flight.operation = ++operations_;
  flight.title = request.title;
  flight.is_message = is_message;
  flight.timeout = request.timeout == kNoOwnTimeout ? options_->timeout : request.timeout;
  flight.inputs = shapes_of(request.inputs);
  flight.outputs = shapes_of(request.outputs);
  return FlightRecorder::get().record(std::move(flight));
}

WorkPtr ProcessGroupMCCL::exchange(
    Request request, std::function<at::Tensor()> input, std::function<void(const at::Tensor&)> output) {
  const auto dtype = request.operation.dtype;
  const auto sends = in_bytes(request.operation.sends, dtype);
  const auto receives = in_bytes(request.operation.receives, dtype);
  return collective(std::move(request), [=](Session& session) {
    const auto received = at::empty({total(receives)}, at::kByte);
    session.gloo.exchange(received, input(), receives, sends, session.deadline);
    output(received);
  });
}

WorkPtr ProcessGroupMCCL::joined(std::vector<WorkPtr> parts, at::Device device) {
  return c10::make_intrusive<JoinedWork>(std::move(parts), getRank(), device);
}

ProcessGroupMCCL::Milliseconds ProcessGroupMCCL::timeout_for(Milliseconds asked) {
  const auto own = asked == kNoOwnTimeout ? options_->timeout : asked;
  return own + Milliseconds(ephemeral_->load());
}

Lane& ProcessGroupMCCL::lane_to(int peer, bool sending) {
  return messages_[{peer, sending}];
}

// A group that was made with a device has communicators on no other.
void ProcessGroupMCCL::check_bound(at::Device device) const {
  const auto bound = getBoundDeviceId();
  TORCH_CHECK_WITH(
      DistBackendError,
      !bound.has_value() || *bound == device,
      "Attempt to perform collective on tensor not on device passed to init_process_group");
}

void ProcessGroupMCCL::check_peer(int peer) const {
  TORCH_CHECK_VALUE(peer >= 0 && peer < getSize(), "invalid rank of the other side: ", peer);
  TORCH_CHECK_VALUE(peer != getRank(), "musasim: a rank cannot send to itself through mccl");
}

std::string ProcessGroupMCCL::name() const {
  return c10::str(getGroupUid(), " (", getGroupDesc(), ")");
}

// ---- One tensor, the same everywhere ----

WorkPtr ProcessGroupMCCL::broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) {
  const auto tensor = only(tensors);
  check_tensor(as_pairs(tensor));
  check_root(opts.rootRank, getSize());
  Operation operation(OpType::BROADCAST, tensor);
  operation.root = opts.rootRank;
  return collective({operation, "mccl:broadcast", {tensor}, {tensor}, opts.timeout}, [=](Session& session) {
    if (tensor.numel() != 0) {
      session.gloo.broadcast(bytes_on_host(tensor), operation.root, session.deadline);
    }
  });
}

WorkPtr ProcessGroupMCCL::allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) {
  const auto tensor = only(tensors);
  check_tensor(as_pairs(tensor));
  const auto op = opts.reduceOp;
  const auto operation = reduction(OpType::ALLREDUCE, tensor, op);
  return collective({operation, "mccl:all_reduce", {tensor}, {tensor}, opts.timeout}, [=](Session& session) {
    if (tensor.numel() != 0) {
      const auto elements = elements_on_host(tensor);
      session.gloo.allreduce(elements, transport_operation(tensor, op), session.deadline);
      finish_reduction(elements, op, session.gloo.size());
    }
  });
}

WorkPtr ProcessGroupMCCL::allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& opts) {
  check_tensors(tensors);
  std::vector<WorkPtr> parts;
  for (const auto& tensor : tensors) {
    Tensors one = {tensor};
    parts.push_back(allreduce(one, opts));
  }
  return joined(std::move(parts), tensors[0].device());
}

WorkPtr ProcessGroupMCCL::reduce(Tensors& tensors, const c10d::ReduceOptions& opts) {
  const auto tensor = only(tensors);
  check_tensor(as_pairs(tensor));
  check_root(opts.rootRank, getSize());
  const auto op = opts.reduceOp;
  auto operation = reduction(OpType::REDUCE, tensor, op);
  operation.root = opts.rootRank;
  return collective({operation, "mccl:reduce", {tensor}, {tensor}, opts.timeout}, [=](Session& session) {
    if (tensor.numel() == 0) {
      return;
    }
    const bool here = operation.root == session.gloo.rank();
    const auto elements = here ? elements_on_host(tensor) : elements_on_host(tensor).clone();
    session.gloo.reduce(elements, transport_operation(tensor, op), operation.root, session.deadline);
    if (here) {
      finish_reduction(elements, op, session.gloo.size());
    }
  });
}

WorkPtr ProcessGroupMCCL::_allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& opts) {
  check_tensor(input);
  check_tensor(output);
  check_same_type(output, input);
  check_value(
      output.numel() == input.numel() * getSize(), "output tensor size must be equal to world_size times input tensor size");
  const Operation operation(OpType::_ALLGATHER_BASE, input);
  return collective(
      {operation, "mccl:_all_gather_base", {input}, {output}, opts.timeout}, [=](Session& session) {
        if (input.numel() != 0) {
          const auto parts = bytes_on_host(output).chunk(session.gloo.size());
          session.gloo.allgather(parts, bytes_on_host(input), session.deadline);
        }
      });
}

WorkPtr ProcessGroupMCCL::allgather_into_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) {
  check_tensors(inputs);
  std::vector<WorkPtr> parts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    parts.push_back(_allgather_base(outputs.at(i), inputs[i], opts));
  }
  return joined(std::move(parts), inputs[0].device());
}

WorkPtr ProcessGroupMCCL::_reduce_scatter_base(
    at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& opts) {
  check_tensor(input);
  check_tensor(output);
  check_type(output.scalar_type() == input.scalar_type(), "input tensor must be the same type as the output tensor.");
  check_value(
      input.numel() == output.numel() * getSize(), "input tensor must be the same size as output size times world size");
  const auto op = opts.reduceOp;
  const auto operation = reduction(OpType::_REDUCE_SCATTER_BASE, input, op);
  return collective(
      {operation, "mccl:_reduce_scatter_base", {input}, {output}, opts.timeout}, [=](Session& session) {
        if (input.numel() != 0) {
          const auto elements = elements_on_host(input).clone();
          session.gloo.allreduce(elements, transport_operation(input, op), session.deadline);
          const auto part = elements.chunk(session.gloo.size())[static_cast<size_t>(session.gloo.rank())];
          finish_reduction(part, op, session.gloo.size());
          elements_on_host(output).copy_(part);
        }
      });
}

WorkPtr ProcessGroupMCCL::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& opts) {
  check_tensors(inputs);
  std::vector<WorkPtr> parts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    parts.push_back(_reduce_scatter_base(outputs.at(i), inputs[i], opts));
  }
  return joined(std::move(parts), inputs[0].device());
}

// ---- Lists, one tensor for each rank; their sizes may differ ----

WorkPtr ProcessGroupMCCL::allgather(
    std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) {
  const auto input = only(inputs);
  check_tensor(input);
  TORCH_CHECK_VALUE(outputs.size() == 1, "Expecting one list of outputs but got ", outputs.size());
  const auto parts = outputs[0];
  check_tensors(parts, /*packed=*/false);
  check_same_type(parts[0], input);
  TORCH_CHECK_VALUE(parts.size() == static_cast<size_t>(getSize()), numbered(parts.size(), getSize()));
  Operation operation(OpType::ALLGATHER, input);
  operation.count = 0;
  operation.sends = Counts(parts.size(), input.numel());
  operation.receives = numels(parts);
  const auto sends = in_bytes(operation.sends, operation.dtype);
  const auto receives = in_bytes(operation.receives, operation.dtype);
  const bool alike = of_one_size(parts);
  const auto stacked = alike ? stacked_like(parts) : at::Tensor();
  const auto results = alike ? Tensors{stacked} : parts;
  return collective({operation, "mccl:all_gather", {input}, results, opts.timeout}, [=](Session& session) {
    if (alike && same_everywhere(session.all)) {
      if (input.numel() != 0) {
        gather_alike(session, stacked, parts, input);
      }
      return;
    }
    const auto received = at::empty({total(receives)}, at::kByte);
    session.gloo.exchange(
        received, gathered_bytes(Tensors(parts.size(), input)), receives, sends, session.deadline);
    scatter_bytes(received, parts);
  });
}

WorkPtr ProcessGroupMCCL::reduce_scatter(
    Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& opts) {
  const auto output = only(outputs);
  check_tensor(output);
  TORCH_CHECK_VALUE(inputs.size() == 1, "Expecting one list of inputs but got ", inputs.size());
  const auto parts = inputs[0];
  check_tensors(parts, /*packed=*/false);
  check_same_type(output, parts[0]);
  TORCH_CHECK_VALUE(parts.size() == static_cast<size_t>(getSize()), numbered(parts.size(), getSize()));
  TORCH_CHECK_VALUE(
      parts[static_cast<size_t>(getRank())].numel() == output.numel(), "output tensor must be the size of this rank's input");
  const auto op = opts.reduceOp;
  auto operation = reduction(OpType::REDUCE_SCATTER, output, op);
  operation.count = 0;
  operation.sends = numels(parts);
  return collective({operation, "mccl:reduce_scatter", parts, {output}, opts.timeout}, [=](Session& session) {
    const auto bytes = gathered_bytes(parts);
    if (bytes.numel() == 0) {
      return;
    }
    // The type of the elements of a tensor on the host, where booleans are bytes and complex numbers are pairs.
    const auto elements = bytes.view(elements_on_host(output).scalar_type());
    session.gloo.allreduce(elements, transport_operation(output, op), session.deadline);
    const auto sizes = in_bytes(operation.sends, operation.dtype);
    const auto rank = session.gloo.rank();
    const auto start = std::accumulate(sizes.begin(), sizes.begin() + rank, int64_t{0});
    const auto mine = elements_on_host(output);
    mine.copy_(bytes.narrow(0, start, sizes[static_cast<size_t>(rank)]).view(mine.scalar_type()));
    finish_reduction(mine, op, session.gloo.size());
  });
}

WorkPtr ProcessGroupMCCL::gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& opts) {
  const Refuse refuse = refusing("gather");
  c10d::assertRootRank(refuse, opts.rootRank, getSize());
  const auto input = only(inputs);
  check_tensor(input);
  Tensors parts;
  if (opts.rootRank == getRank()) {
    parts = list_of_root(outputs, input, "output", getSize(), refuse);
  } else if (!outputs.empty()) {
    refuse("requires empty output on non-root");
  }
  Operation operation(OpType::GATHER, input);
  operation.count = 0;
  operation.root = opts.rootRank;
  operation.sends = one_at(opts.rootRank, input.numel(), getSize());
  operation.receives = parts.empty() ? Counts(static_cast<size_t>(getSize()), 0) : numels(parts);
  return exchange(
      {operation, "mccl:gather", {input}, parts, opts.timeout},
      [=] { return bytes_on_host(input); },
      [=](const at::Tensor& received) { scatter_bytes(received, parts); });
}

WorkPtr ProcessGroupMCCL::scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& opts) {
  const Refuse refuse = refusing("scatter");
  c10d::assertRootRank(refuse, opts.rootRank, getSize());
  const auto output = only(outputs);
  check_tensor(output);
  Tensors parts;
  if (opts.rootRank == getRank()) {
    parts = list_of_root(inputs, output, "input", getSize(), refuse);
  } else if (!inputs.empty()) {
    refuse("requires empty input on non-root");
  }
  Operation operation(OpType::SCATTER, output);
  operation.count = 0;
  operation.root = opts.rootRank;
  operation.sends = parts.empty() ? Counts(static_cast<size_t>(getSize()), 0) : numels(parts);
  operation.receives = one_at(opts.rootRank, output.numel(), getSize());
  return exchange(
      {operation, "mccl:scatter", parts, {output}, opts.timeout},
      [=] { return parts.empty() ? at::empty({0}, at::kByte) : gathered_bytes(parts); },
      [=](const at::Tensor& received) { bytes_on_host(output).copy_(received); });
}

WorkPtr ProcessGroupMCCL::alltoall_base(
    at::Tensor& output,
    at::Tensor& input,
    std::vector<int64_t>& output_splits,
    std::vector<int64_t>& input_splits,
    const c10d::AllToAllOptions& opts) {
  check_tensor(input);
  check_tensor(output);
  check_same_type(output, input);
  Operation operation(OpType::ALLTOALL_BASE, input);
  operation.count = 0;
  operation.sends = split_counts(input_splits, input, getSize());
  operation.receives = split_counts(output_splits, output, getSize());
  const auto sends = in_bytes(operation.sends, operation.dtype);
  const auto receives = in_bytes(operation.receives, operation.dtype);
  return collective(
      {operation, "mccl:all_to_all", {input}, {output}, opts.timeout},
      [output = output, input = input, sends, receives](Session& session) {
        session.gloo.exchange(bytes_on_host(output), bytes_on_host(input), receives, sends, session.deadline);
      });
}

WorkPtr ProcessGroupMCCL::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& opts) {
  check_tensors(inputs);
  check_tensors(outputs);
  check_same_type(outputs[0], inputs[0]);
  TORCH_CHECK_VALUE(inputs.size() == static_cast<size_t>(getSize()), numbered(inputs.size(), getSize()));
  TORCH_CHECK_VALUE(outputs.size() == static_cast<size_t>(getSize()), numbered(outputs.size(), getSize()));
  Operation operation(OpType::ALLTOALL, inputs[0]);
  operation.count = 0;
  operation.sends = numels(inputs);
  operation.receives = numels(outputs);
  return exchange(
      {operation, "mccl:all_to_all", inputs, outputs, opts.timeout},
      [inputs = inputs] { return gathered_bytes(inputs); },
      [outputs = outputs](const at::Tensor& received) { scatter_bytes(received, outputs); });
}

// ---- Messages ----

WorkPtr ProcessGroupMCCL::send(Tensors& tensors, int to, int /*tag*/) {
  const auto tensor = only(tensors);
  check_message(tensor);
  check_peer(to);
  const Operation operation(OpType::SEND, tensor);
  const auto title = c10::str("mccl:send ", getRank(), "->", to);
  return message({operation, title, {tensor}, {}, kNoOwnTimeout}, lane_to(to, true), [=](Gloo& gloo, Deadline deadline) {
    send_message(gloo, tensor, to, deadline);
  });
}

WorkPtr ProcessGroupMCCL::recv(Tensors& tensors, int from, int /*tag*/) {
  const auto tensor = only(tensors);
  check_message(tensor);
  check_peer(from);
  const Operation operation(OpType::RECV, tensor);
  return message(
      {operation, c10::str("mccl:recv ", getRank(), "<-", from), {}, {tensor}, kNoOwnTimeout},
      lane_to(from, false),
      [=, group = name()](Gloo& gloo, Deadline deadline) { receive_message(gloo, group, tensor, from, deadline); });
}

WorkPtr ProcessGroupMCCL::barrier(const c10d::BarrierOptions& opts) {
  if (!opts.device_ids.empty()) {
    const auto index = static_cast<c10::DeviceIndex>(opts.device_ids[0]);
    TORCH_CHECK_VALUE(index >= 0, "Failed to infer a GPU device id to perform barrier. ");
    check_device(index);
    check_bound(c10::Device(kMusa, index));
  }
  // On a device it is a reduction of one element, as which it is recorded. Here it is only the exchange of descriptions.
  const auto device = opts.device_ids.empty() ? current_device() : static_cast<c10::DeviceIndex>(opts.device_ids[0]);
  const auto element = at::zeros({1}, at::TensorOptions(c10::Device(kMusa, device)).dtype(at::kFloat));
  return collective(
      {Operation(OpType::BARRIER), "mccl:all_reduce_barrier", {element}, {element}, opts.timeout}, [](Session&) {});
}

WorkPtr ProcessGroupMCCL::recvAnysource(Tensors& /*tensors*/, int /*tag*/) {
  TORCH_CHECK(false, "ProcessGroupMCCL does not support recvAnysource");
}

WorkPtr ProcessGroupMCCL::allgather_coalesced(
    std::vector<Tensors>& /*outputs*/, Tensors& /*inputs*/, const c10d::AllgatherOptions& /*opts*/) {
  constexpr const char* kLacking = "ProcessGroupMCCL does not support allgather_coalesced";
  TORCH_CHECK_NOT_IMPLEMENTED(!since(Release::v2_9_1), kLacking);
  TORCH_CHECK(false, kLacking);
}

// ---- Groups of operations ----

// What a group holds may wait for each other: a message to a rank for one from it. Raises the first error.
static void run_at_the_same_time(const std::vector<std::function<void()>>& operations) {
  std::vector<std::future<void>> running;
  for (const auto& operation : operations) {
    running.push_back(std::async(std::launch::async, operation));
  }
  for (auto& one : running) {
    one.wait();
  }
  for (auto& one : running) {
    one.get();
  }
}

void ProcessGroupMCCL::startCoalescing() {
  coalesced_.emplace();
  captured_.clear();
}

WorkPtr ProcessGroupMCCL::endCoalescing() {
  TORCH_CHECK(coalesced_.has_value(), "endCoalescing without startCoalescing");
  auto parts = std::move(*coalesced_);
  coalesced_.reset();
  if (auto* capture = active_capture(); capture != nullptr && !captured_.empty()) {
    capture->add_at_once("mccl:coalesced", [replays = std::exchange(captured_, {})] { run_at_the_same_time(replays); });
  }
  return joined(std::move(parts), c10::Device(kMusa, current_device()));
}

// ---- The communicator ----

void ProcessGroupMCCL::eagerConnectSingleDevice(at::Device device) {
  check_device(device.index());
  used_ = true;
}

c10d::ErrorType ProcessGroupMCCL::getError() {
  return health_->error();
}

void ProcessGroupMCCL::abort() {
  if (settings_.dumps_on_abort) {
    write_flights(world_rank_);
  }
  health_->fail(c10d::ErrorType::COMM_ERROR, "it was aborted by the program");
}

void ProcessGroupMCCL::shutdown() {
  health_->fail(c10d::ErrorType::COMM_ERROR, "it was shut down by the program");
}

void ProcessGroupMCCL::enableCollectivesTiming() {
  settings_.timed = true;
}

c10::intrusive_ptr<c10d::Backend::Options> ProcessGroupMCCL::getBackendOptions() {
  return options_;
}

void ProcessGroupMCCL::setTimeout(Milliseconds timeout) {
  options_->timeout = timeout;
}

void ProcessGroupMCCL::add_ephemeral_timeout(Milliseconds timeout) {
  *ephemeral_ += timeout.count();
  ephemeral_owned_ += timeout.count();
}

bool ProcessGroupMCCL::has_timeout(const WorkPtr& work, Milliseconds timeout) const {
  const auto* ours = dynamic_cast<const WorkMCCL*>(work.get());
  TORCH_CHECK(ours != nullptr, "Non c10d::WorkMCCL object passed to verifyWorkTimeoutForTest");
  return ours->timeout() == timeout;
}

int64_t ProcessGroupMCCL::comm_ptr() const {
  return used_ ? reinterpret_cast<int64_t>(communicator_.get()) : 0;
}

static std::pair<int64_t, int64_t> id_of(const pybind11::object& pool) {
  return pool.attr("id").cast<std::pair<int64_t, int64_t>>();
}

static void check_connected(bool is_connected) {
  TORCH_CHECK_WITH(
      DistBackendError,
      is_connected,
      "MCCL communicator has not been initialized before mem pool creation. You can pass `device_id` to "
      "init_process_group -- one way of eager initialization -- to work around this issue");
}

void ProcessGroupMCCL::register_mem_pool(const pybind11::object& pool, bool /*symmetric*/) {
  check_connected(used_);
  pools_.insert(id_of(pool));
}

void ProcessGroupMCCL::deregister_mem_pool(const pybind11::object& pool) {
  check_connected(used_);
  TORCH_CHECK(pools_.erase(id_of(pool)) == 1, "Trying to unregister not previously registered pool");
}

// Ordinary memory of the device.
std::shared_ptr<c10::Allocator> ProcessGroupMCCL::getMemAllocator() {
  return Settings::since_2_9_1 ? std::make_shared<PoolAllocator>(uncached_allocator()) : Backend::getMemAllocator();
}

void ProcessGroupMCCL::start_time_estimate() {
  startCoalescing();
}

float ProcessGroupMCCL::end_time_estimate() {
  TORCH_CHECK(false, "The current mccl version does not support mccl comm time estimation. ");
}

// 2.7.1 has what every backend has.
static void check_later(const char* what) {
  TORCH_CHECK(since(Release::v2_9_1), "Backend mccl is missing implementation of ", what, ".");
}

c10::intrusive_ptr<c10d::Backend> ProcessGroupMCCL::split(
    const c10::intrusive_ptr<c10d::Store>& store,
    const std::vector<int>& ranks,
    const c10::intrusive_ptr<c10d::Backend::Options>& opts) {
  check_later("split");
  const auto place = std::find(ranks.begin(), ranks.end(), getRank());
  if (place == ranks.end()) {
    return nullptr;
  }
  auto options = c10::make_intrusive<Options>(options_->is_high_priority_stream);
  options->timeout = opts == nullptr ? options_->timeout : opts->timeout;
  options->split_from = c10::intrusive_ptr<ProcessGroupMCCL>::unsafe_reclaim_from_nonowning(this);
  if (opts != nullptr) {
    take_names(*options, *opts);
  }
  auto made = c10::make_intrusive<ProcessGroupMCCL>(
      store, static_cast<int>(place - ranks.begin()), static_cast<int>(ranks.size()), options);
  made->setGroupUid(options->group_name);
  return made;
}

c10::intrusive_ptr<c10d::Backend> ProcessGroupMCCL::merge(
    const c10::intrusive_ptr<c10d::Store>& store,
    const c10::intrusive_ptr<c10d::Backend::Options>& opts,
    const int& rank,
    const int& size) {
  check_later("merge");
  const auto options = c10::dynamic_intrusive_pointer_cast<Options>(opts);
  TORCH_CHECK(options != nullptr, "opts not a ProcessGroupMCCL::Options.");
  take_names(*options, *opts);
  auto made = c10::make_intrusive<ProcessGroupMCCL>(store, rank, size, options);
  made->setGroupUid(options->group_name);
  return made;
}

} // namespace musasim::mccl
