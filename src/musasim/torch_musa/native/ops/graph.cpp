#include "graph.h"

#include "../runtime/generator.h"
#include "../runtime/launches.h"
#include "../runtime/trace.h"

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <mutex>
#include <utility>

namespace musasim {

namespace {

std::atomic<bool> g_debug{false};

void check(musaError_t error) {
  if (error != musaSuccess) {
    musaGetLastError(); // it is told here
    raise_musa_error(musaGetErrorString(error));
  }
}

// Where the kernels of graphs find the seed and the offset of a device's generator, on a device. Here they take memory only.
class GeneratorPlaces {
 public:
  void add(c10::DeviceIndex device) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (graphs_++ == 0) {
      const auto number = at::TensorOptions(c10::Device(kMusa, device)).dtype(at::kLong);
      seed_ = at::empty({1}, number);
      offset_ = at::empty({1}, number);
    }
  }
  void remove() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--graphs_ == 0) {
      seed_.reset();
      offset_.reset();
    }
  }

 private:
  std::mutex mutex_;
  size_t graphs_ = 0;
  at::Tensor seed_, offset_;
};

GeneratorPlaces& places_for(c10::DeviceIndex device) {
  static auto* all = new std::array<GeneratorPlaces, kMaxDevices>();
  return (*all)[static_cast<size_t>(device)];
}

} // namespace

CaptureMode capture_mode(const std::string& name) {
  if (name == "global") {
    return CaptureMode::Global;
  }
  if (name == "thread_local") {
    return CaptureMode::ThreadLocal;
  }
  TORCH_CHECK(
      name == "relaxed",
      "Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got ",
      name);
  return CaptureMode::Relaxed;
}

MusaGraph::~MusaGraph() {
  try {
    reset();
  } catch (const std::exception& error) {
    TORCH_WARN("resetting a MUSA graph failed: ", error.what());
  }
  if (registered_ >= 0) {
    places_for(registered_).remove();
  }
}

void MusaGraph::register_generator() {
  assert_not_capturing("Cannot register the state during capturing stage.");
  if (registered_ < 0) {
    const auto device = current_device();
    places_for(device).add(device);
    registered_ = device;
  }
}

void MusaGraph::capture_begin(std::optional<PoolId> pool, CaptureMode mode) {
  refuse_after_fork();
  TORCH_CHECK(!has_executable() && capture_ == nullptr, "This MUSAGraph instance already owns a captured graph. To capture a new graph, create a new instance.");
  register_generator();
  const auto stream = current_stream(-1);
  TORCH_CHECK(
      stream.id() != 0,
      "MUSA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them on the "
      "default stream.)");
  TORCH_INTERNAL_ASSERT(!pool.has_value() || pool->first == 0 || pool->second == 0); // a graph's pool, or a handle's
  auto capture = std::make_unique<Capture>(stream, mode);
  begin_capture(*capture); // raises if the stream is being captured already, before any change of this graph
  capture_ = std::move(capture);
  device_ = stream.device_index();
  pool_ = pool.value_or(PoolId{0, 0}) == PoolId{0, 0} ? new_pool_id(/*user_created=*/false) : *pool;
  capture_->before_write = [this](const c10::Storage& storage) {
    const bool known = std::any_of(
        kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.storage.is_alias_of(storage); });
    if (!known && storage.nbytes() > 0) {
      const musart::DeviceWork work;
      const auto* data = static_cast<const char*>(storage.data());
      kept_.push_back({storage, std::vector<char>(data, data + storage.nbytes())});
    }
  };
  seed_offset_ = at::check_generator<MusaGenerator>(default_generator(device_))->philox_offset_per_thread();
  try {
    begin_allocate_to_pool(device_, pool_, /*every_stream=*/false);
  } catch (...) { // another capture uses the pool now
    finish_capture(*capture_);
    capture_.reset();
    throw;
  }
  has_pool_ = true;
}

void MusaGraph::put_back() {
  const musart::DeviceWork work;
  for (auto it = capture_->given_up.rbegin(); it != capture_->given_up.rend(); ++it) {
    std::memcpy(it->first, it->second.data(), it->second.size());
  }
  for (auto& kept : kept_) {
    std::memcpy(kept.storage.mutable_data(), kept.bytes.data(), std::min(kept.bytes.size(), kept.storage.nbytes()));
  }
  kept_.clear();
  at::check_generator<MusaGenerator>(default_generator(device_))->set_philox_offset_per_thread(seed_offset_);
}

void MusaGraph::capture_end() {
  if (capture_ == nullptr) {
    raise_musa_error(musaGetErrorString(musaErrorIllegalState));
  }
  TORCH_CHECK(
      current_stream(device_) == capture_->origin, "Capture must end on the same stream it began on.");
  end_allocate_to_pool(device_, pool_);
  finish_capture(*capture_);
  put_back();
  capture_->before_write = nullptr;
  if (capture_->invalidated) {
    fail("operation failed due to a previous error during capture");
  }
  if (capture_->has_unjoined_work()) {
    fail("capturing stream has unjoined work");
  }
  if (capture_->nodes.empty()) {
    TORCH_WARN(
        "The MUSA Graph is empty. This usually means that the graph was ",
        "attempted to be captured on wrong device or stream.");
  }
  destroy_graph();
  graph_ = static_cast<musaGraph_t>(musart::make_graph(std::move(capture_->nodes)));
  places_ = std::move(capture_->places);
  checked_at_ = musart::releases();
  has_graph() = true;
  if (since(Release::v2_9_1)) {
    flags_[1] = true; // the capture has ended
  }
  capture_.reset();
  if (!keep_graph_) {
    make_executable();
  }
}

void MusaGraph::instantiate() {
  TORCH_CHECK(is_captured(), "capture_end() must have been called before calling instantiate");
  if (has_executable()) {
    TORCH_CHECK(keep_graph_, "instantiate() is intended to be called by the user only when keep_graph=true");
    destroy_executable();
  }
  make_executable();
}

void MusaGraph::make_executable() {
  // torch_musa gives five arguments, the form of older drivers; the two that this one lacks are null there.
  check(musaGraphInstantiate(&graph_exec_, graph_, 0));
  has_executable() = true;
}

void MusaGraph::destroy_executable() {
  if (has_executable()) {
    musart::finish_launches();
    check(musaGraphExecDestroy(std::exchange(graph_exec_, nullptr)));
    has_executable() = false;
  }
}

void MusaGraph::destroy_graph() {
  if (has_graph()) {
    check(musaGraphDestroy(std::exchange(graph_, nullptr)));
    has_graph() = false;
  }
}

void MusaGraph::fail(const char* what) {
  capture_.reset();
  raise_musa_error(what);
}

void MusaGraph::reinstantiate() {
  TORCH_CHECK(
      has_graph() && has_executable(), "The graph_ and graph_exec_ musa have been created in the graph capture stage");
  destroy_executable();
  make_executable();
}

uintptr_t MusaGraph::raw_graph() const {
  TORCH_CHECK(keep_graph_, "You cannot access the raw musaGraph_t instance unless MUSAGraph was initialized with keep_graph=true");
  TORCH_CHECK(flags_[0], "You cannot access the raw musaGraph_t instance until capture_end() has been called");
  return reinterpret_cast<uintptr_t>(graph_);
}

uintptr_t MusaGraph::raw_executable() const {
  TORCH_CHECK(flags_[2], "You cannot access the raw musaGraphExec_t instance until instantiate() has been called");
  return reinterpret_cast<uintptr_t>(graph_exec_);
}

// A graph does not keep the memory that it was captured on.
void MusaGraph::require_places() {
  const auto now = musart::releases();
  if (C10_LIKELY(now == std::exchange(checked_at_, now))) {
    return;
  }
  for (const void* place : places_) {
    if (!musart::find_allocation(place).has_value()) {
      musart::fail_device(device_, musaErrorIllegalAddress);
    }
  }
}

void MusaGraph::replay() {
  refuse_after_fork();
  TORCH_CHECK(is_captured(), "Called MUSAGraph::replay without a preceding successful capture.");
  TORCH_CHECK_NOT_IMPLEMENTED(active_capture() == nullptr, "musasim: a graph cannot be replayed into a capture");
  const c10::DeviceGuard guard(c10::Device(kMusa, device_));
  if (!has_executable()) {
    TORCH_INTERNAL_ASSERT(keep_graph_);
    make_executable();
  }
  auto nodes = musart::nodes_of(graph_exec_);
  if (nodes == nullptr) {
    raise_musa_error("invalid argument");
  }
  require_places();
  check_fault(device_);
  const StartedBy launch(is_tracing() ? trace_launch("musaGraphLaunch") : 0);
  musart::launch_graph(graph_exec_, std::move(nodes), stream_state(current_stream(device_)));
}

void MusaGraph::reset() {
  if (capture_ != nullptr) {
    end_allocate_to_pool(device_, pool_);
    finish_capture(*capture_);
    kept_.clear();
  }
  capture_.reset();
  destroy_executable();
  destroy_graph();
  flags_[1] = false;
  if (std::exchange(has_pool_, false) && since(Release::v2_9_1)) {
    release_pool(device_, pool_);
  }
}

PoolId MusaGraph::pool() const {
  TORCH_CHECK(
      is_captured(), "Called MUSAGraph::pool() without a preceding successful capture.");
  return pool_;
}

void MusaGraph::enable_debug_mode() {
  g_debug = true;
}

// Like the real one, it gives warnings about what it does, and works once.
void MusaGraph::debug_dump(const std::string& path) {
  if (!g_debug) {
    const auto* how = since(Release::v2_9_1) ? "[graph].enable_debug_mode()" : "torch._C._musa_enable_graphs_debug_mode";
    TORCH_WARN("MUSA Graphs debug not enabled, set with ", how);
    return;
  }
  TORCH_WARN("DEBUG: calling debug_dump()");
  if (!has_graph()) {
    return;
  }
  TORCH_WARN("DEBUG: calling musaGraphDebugDotPrint() with ", path);
  std::ofstream file(path);
  if (!file.good()) {
    TORCH_WARN("MUSA warning: operation not supported (cannot write ", path, ")");
    return;
  }
  file << "digraph musa_graph {\n";
  const auto all = musart::nodes_of(graph_);
  const auto& nodes = *all;
  for (size_t i = 0; i < nodes.size(); ++i) {
    file << "  n" << i << " [label=\"" << nodes[i].name << "\"];\n";
    if (i > 0) {
      file << "  n" << i - 1 << " -> n" << i << ";\n";
    }
  }
  file << "}\n";
  if (!keep_graph_) {
    destroy_graph();
  }
}

} // namespace musasim
