#pragma once

#include "agreement.h"
#include "flight_recorder.h"
#include "lane.h"
#include "settings.h"
#include "work.h"

#include <pybind11/pybind11.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace musasim::mccl {

// The state that jobs use. They hold it, so that it outlives a group that is dropped during a job.
struct Communicator {
  std::shared_ptr<Health> health;
  Gloo gloo;
};

// One operation while it runs: the descriptions from all ranks, and its deadline.
struct Session {
  Gloo& gloo;
  const std::vector<Operation>& all;
  Deadline deadline;
};

// The process group `mccl`: collectives on tensors of the device, in NCCL's manner, carried by gloo on the same memory.
class ProcessGroupMCCL final : public c10d::Backend {
 public:
  using Work = c10d::Work;
  using WorkPtr = c10::intrusive_ptr<Work>;
  using Milliseconds = std::chrono::milliseconds;

  static constexpr Milliseconds kDefaultTimeout{10 * 60 * 1000};

  // How a communicator uses the device, where there is nothing to choose here. What is undefined is the library's choice.
  struct Config {
    static constexpr int kUndefined = std::numeric_limits<int>::min();

    int blocking = kUndefined;
    int cga_cluster_size = kUndefined;
    int min_ctas = kUndefined;
    int max_ctas = kUndefined;
    int cta_policy = kUndefined;
  };

  struct Options final : c10d::Backend::Options {
    explicit Options(bool high_priority = false) : c10d::Backend::Options("mccl", kDefaultTimeout), is_high_priority_stream(high_priority) {}

    bool is_high_priority_stream;
    Config config;
    c10::intrusive_ptr<ProcessGroupMCCL> split_from;
    int64_t split_color = -2; // NCCL's word for "not set"
    // Every backend's options have these in newer releases; ours hide them.
    std::string group_name;
    std::vector<uint64_t> global_ranks_in_group;
  };
  using OptionsPtr = c10::intrusive_ptr<Options>;

  ProcessGroupMCCL(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, OptionsPtr options);

  const std::string getBackendName() const override {
    return "mccl";
  }
  // torch_musa says so of all its releases, although split() makes a group from 2.9.1 on.
  bool supportsSplitting() const override {
    return false;
  }
  bool supportsCoalescing() const override {
    return true;
  }
  const OptionsPtr& options() const {
    return options_;
  }

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) override;
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& opts) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& opts) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& opts) override;
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) override;
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& opts) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& opts) override;
  WorkPtr reduce_scatter_tensor_coalesced(
      Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& opts) override;
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& opts) override;
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& opts) override;
  WorkPtr alltoall_base(
      at::Tensor& output,
      at::Tensor& input,
      std::vector<int64_t>& output_splits,
      std::vector<int64_t>& input_splits,
      const c10d::AllToAllOptions& opts) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& opts) override;
  WorkPtr send(Tensors& tensors, int to, int tag) override;
  WorkPtr recv(Tensors& tensors, int from, int tag) override;
  WorkPtr barrier(const c10d::BarrierOptions& opts) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;
  WorkPtr allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) override;

  void startCoalescing() override;
  WorkPtr endCoalescing() override;

  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override {
    return sequence_;
  }
  void eagerConnectSingleDevice(at::Device device) override;
  c10d::ErrorType getError() override;
  void abort() override;
  void shutdown() override;
  void enableCollectivesTiming() override;

  // Newer than the oldest torch that is supported, hence no override.
  c10::intrusive_ptr<c10d::Backend::Options> getBackendOptions();
  void setTimeout(Milliseconds timeout);
  c10::intrusive_ptr<c10d::Backend> split(
      const c10::intrusive_ptr<c10d::Store>& store,
      const std::vector<int>& ranks,
      const c10::intrusive_ptr<c10d::Backend::Options>& opts);
  c10::intrusive_ptr<c10d::Backend> merge(
      const c10::intrusive_ptr<c10d::Store>& store,
      const c10::intrusive_ptr<c10d::Backend::Options>& opts,
      const int& rank,
      const int& size);

  std::shared_ptr<c10::Allocator> getMemAllocator() override;

  // MCCL cannot say how long an operation would take.
  void start_time_estimate();
  float end_time_estimate();

  void add_ephemeral_timeout(Milliseconds timeout);
  bool has_timeout(const WorkPtr& work, Milliseconds timeout) const;
  void find_nan(bool wanted) {
    settings_.finds_nan = wanted;
  }
  // The address of the communicator, which has to be connected: by a first operation, or eagerly.
  int64_t comm_ptr() const;
  // Memory is registered with the library to save copies; here, every rank's operations read and write it in any case.
  void register_mem_pool(const pybind11::object& pool, bool symmetric);
  void deregister_mem_pool(const pybind11::object& pool);
  uint64_t uid() const {
    return uid_;
  }
  // A communicator is never split: MCCL cannot, so split() connects another one.
  uint64_t split_count() const {
    return 0;
  }
  bool is_initialized() const {
    return used_;
  }

 private:
  using Body = std::function<void(Session&)>;
  struct Request {
    Operation operation;
    std::string title;
    Tensors inputs;
    Tensors outputs;
    Milliseconds timeout;
  };

  WorkPtr collective(Request request, Body body);
  WorkPtr message(Request request, Lane& lane, std::function<void(Gloo&, Deadline)> body);
  WorkPtr submit(const Request& request, Lane& lane, std::function<void(Deadline)> job);
  static std::function<void(Deadline)> traced(std::string kernel, c10::Stream stream, std::function<void(Deadline)> job);
  c10::Stream stream_on(at::Device device);
  std::shared_ptr<FlightTimes> record(const Request& request, bool is_message);
  WorkPtr exchange(Request request, std::function<at::Tensor()> input, std::function<void(const at::Tensor&)> output);
  WorkPtr joined(std::vector<WorkPtr> parts, at::Device device);
  Milliseconds timeout_for(Milliseconds asked);
  Lane& lane_to(int peer, bool sending);
  void check_bound(at::Device device) const;
  void check_peer(int peer) const;
  std::string name() const;

  static uint64_t count_groups();
  static inline int world_rank_ = 0; // this process's in the first group, which is that of all

  const uint64_t uid_ = count_groups(); // in this process, from 0 on
  const OptionsPtr options_;
  Settings settings_ = Settings::read(); // before the group connects, because a wrong one is an error
  const std::shared_ptr<Health> health_;
  const std::shared_ptr<Communicator> communicator_;
  Lane collectives_;
  std::map<std::pair<int, bool>, Lane> messages_; // one each way: a rank may send and receive at the same time
  std::optional<std::vector<WorkPtr>> coalesced_;
  std::vector<std::function<void()>> captured_; // what a capture holds of them, which is replayed as one
  std::atomic<uint64_t> sequence_{0};
  std::atomic<uint64_t> messages_sent_{0};
  std::atomic<uint64_t> operations_{0};
  std::optional<c10::Stream> stream_; // of the communicator, which profiles show
  std::set<std::pair<int64_t, int64_t>> pools_; // those that are registered, by their ids
  bool used_ = false;
  std::shared_ptr<std::atomic<int64_t>> ephemeral_ = std::make_shared<std::atomic<int64_t>>(0);
  int64_t ephemeral_owned_ = 0;
};

} // namespace musasim::mccl
