// Graphs of the runtime API. They repeat the work that a stream was given between two calls.
#include "api.h"
#include "graph_launches.h"
#include "kernel_node.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>

namespace musart {
namespace {

using Nodes = std::vector<Capture::Node>;

struct Graph {
  std::shared_ptr<const Nodes> nodes;
  std::shared_ptr<const Nodes> origin; // of an executable: those of its graph
  bool is_executable;
};

struct Graphs {
  std::mutex mutex;
  std::map<const Stream*, std::unique_ptr<Capture>> under_way;
  std::set<const void*> known; // graphs and their executables
  long long executables = 0;
};

// The driver allows about this many executables in a process.
long long executables_limit() {
  static const long long limit = read_number("MUSASIM_GRAPH_EXECUTABLES", 2048, 0);
  return limit;
}

Graphs& graphs() {
  static auto* all = new Graphs();
  return *all;
}

// A new graph or executable; nullptr for an executable beyond the limit.
Graph* enlist_graph(std::shared_ptr<const Nodes> nodes, std::shared_ptr<const Nodes> origin = nullptr) {
  const bool is_executable = origin != nullptr;
  auto& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (is_executable && all.executables >= executables_limit()) {
    return nullptr;
  }
  auto* graph = new Graph{std::move(nodes), std::move(origin), is_executable};
  all.known.insert(graph);
  all.executables += is_executable ? 1 : 0;
  return graph;
}

Graph* find_graph(const void* handle) {
  auto& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.known.count(handle) == 0 ? nullptr : static_cast<Graph*>(const_cast<void*>(handle));
}

const Graph* find_executable(const void* handle) {
  const auto* found = find_graph(handle);
  return found != nullptr && found->is_executable ? found : nullptr;
}

musaError_t destroy_graph(const void* handle, bool is_executable) {
  if (const auto error = enter()) {
    return remember(error);
  }
  auto& all = graphs();
  std::unique_ptr<const Graph> graph; // freed after the lock: what the nodes hold may call the runtime when it goes
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto* found = static_cast<const Graph*>(handle);
  if (all.known.count(handle) == 0 || found->is_executable != is_executable) {
    return remember(musaErrorInvalidValue);
  }
  all.known.erase(handle);
  all.executables -= is_executable ? 1 : 0;
  graph.reset(found);
  return musaSuccess;
}

const Capture::Node* node_at(const Nodes& nodes, const void* handle) {
  const auto at = std::find_if(nodes.begin(), nodes.end(), [&](const Capture::Node& node) { return &node == handle; });
  return at == nodes.end() ? nullptr : &*at;
}

// Those of an executable: it has kernels with parameters of its own.
std::shared_ptr<const Nodes> executable_nodes(const Nodes& nodes) {
  auto own = std::make_shared<Nodes>(nodes);
  for (auto& node : *own) {
    if (node.kernel != nullptr) {
      node.kernel = node.kernel->copied();
      node.run = [kernel = node.kernel] { run_kernel(*kernel); };
    }
  }
  return own;
}

// The capture of a stream, if it was begun here.
std::unique_ptr<Capture> take_capture(const Stream& stream) {
  auto& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.under_way.find(&stream);
  if (found == all.under_way.end()) {
    return nullptr;
  }
  auto capture = std::move(found->second);
  all.under_way.erase(found);
  return capture;
}

} // namespace

void* make_graph(std::vector<Capture::Node> nodes) {
  return enlist_graph(std::make_shared<const Nodes>(std::move(nodes)));
}

const Capture::Node* find_node(const void* handle) {
  auto& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (const auto* known : all.known) {
    const auto& graph = *static_cast<const Graph*>(known);
    const auto* node = graph.is_executable ? nullptr : node_at(*graph.nodes, handle);
    if (node != nullptr) return node;
  }
  return nullptr;
}

const Capture::Node* find_node_of(const void* executable, const void* handle) {
  const auto* graph = find_executable(executable);
  const auto* origin = graph == nullptr ? nullptr : node_at(*graph->origin, handle);
  return origin == nullptr ? nullptr : &(*graph->nodes)[origin - graph->origin->data()];
}

std::shared_ptr<const std::vector<Capture::Node>> nodes_of(const void* handle) {
  const auto* graph = find_graph(handle);
  return graph == nullptr ? nullptr : graph->nodes;
}

} // namespace musart

using namespace musart;

musaError_t musaStreamBeginCapture(musaStream_t handle, musaStreamCaptureMode mode) {
  if (const auto error = enter()) {
    return remember(error);
  }
  auto* stream = stream_of(handle);
  if (stream == nullptr || stream == &default_stream(stream->device)) {
    return remember(stream == nullptr ? musaErrorInvalidResourceHandle : musaErrorStreamCaptureUnsupported);
  }
  const auto number = static_cast<int>(mode);
  if (number < 0 || number > musaStreamCaptureModeRelaxed) {
    return remember(musaErrorInvalidValue);
  }
  auto capture = std::make_unique<Capture>(static_cast<CaptureMode>(number));
  if (!begin_capture(*capture, *stream)) {
    return remember(musaErrorIllegalState);
  }
  auto& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.under_way[stream] = std::move(capture);
  return musaSuccess;
}

musaError_t musaStreamEndCapture(musaStream_t handle, musaGraph_t* graph) {
  if (const auto error = enter()) {
    return remember(error);
  }
  auto* stream = stream_of(handle);
  if (stream == nullptr || graph == nullptr) {
    return remember(stream == nullptr ? musaErrorInvalidResourceHandle : musaErrorInvalidValue);
  }
  const auto capture = take_capture(*stream);
  if (capture == nullptr) {
    return remember(musaErrorIllegalState);
  }
  finish_capture(*capture, *stream);
  *graph = nullptr;
  if (capture->invalidated) {
    return remember(musaErrorStreamCaptureInvalidated);
  }
  if (capture->has_unjoined_work(*stream)) {
    return remember(musaErrorStreamCaptureUnjoined);
  }
  *graph = reinterpret_cast<musaGraph_t>(make_graph(std::move(capture->nodes)));
  return musaSuccess;
}

musaError_t musaGraphGetNodes(musaGraph_t handle, musaGraphNode_t* nodes, size_t* count) {
  auto* graph = find_graph(handle);
  if (graph == nullptr || graph->is_executable || count == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  const auto& all = *graph->nodes;
  for (size_t at = 0; nodes != nullptr && at < all.size() && at < *count; ++at) {
    nodes[at] = reinterpret_cast<musaGraphNode_t>(const_cast<Capture::Node*>(&all[at]));
  }
  *count = all.size();
  return musaSuccess;
}

// An executable keeps what it needs, so the graph may be destroyed. Beyond the limit the error is the driver's.
musaError_t musaGraphInstantiate(musaGraphExec_t* executable, musaGraph_t handle, unsigned long long) {
  if (const auto error = enter()) {
    return remember(error);
  }
  const auto* graph = find_graph(handle);
  if (graph == nullptr || graph->is_executable || executable == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  auto* made = enlist_graph(executable_nodes(*graph->nodes), graph->nodes);
  if (made == nullptr) {
    return remember(musaErrorIllegalAddress);
  }
  *executable = reinterpret_cast<musaGraphExec_t>(made);
  return musaSuccess;
}

musaError_t musaGraphLaunch(musaGraphExec_t handle, musaStream_t on) {
  if (const auto error = enter_to_launch()) {
    return remember(error);
  }
  auto* stream = stream_of(on);
  const auto* graph = find_executable(handle);
  if (stream == nullptr || graph == nullptr) {
    return remember(stream == nullptr ? musaErrorInvalidResourceHandle : musaErrorInvalidValue);
  }
  if (auto* capture = stream->capture.load()) {
    for (const auto& node : *graph->nodes) {
      capture->add({node.name, node.run, nullptr, node.at_once}, *stream);
    }
  } else {
    launch_graph(graph, graph->nodes, *stream);
  }
  return remember(static_cast<musaError_t>(device_fault(stream->device)));
}

musaError_t musaGraphDestroy(musaGraph_t graph) {
  return destroy_graph(graph, /*is_executable=*/false);
}

musaError_t musaGraphExecDestroy(musaGraphExec_t executable) {
  return destroy_graph(executable, /*is_executable=*/true);
}

// The mode belongs to a capture here, not to a thread, so this only stores the value.
musaError_t musaThreadExchangeStreamCaptureMode(musaStreamCaptureMode* mode) {
  thread_local auto current = musaStreamCaptureModeGlobal;
  if (mode == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  std::swap(current, *mode);
  return musaSuccess;
}
