// Graphs of the runtime API. They repeat the work that a stream was given between two calls.
#include "api.h"

#include <memory>
#include <mutex>
#include <set>

namespace musart {
namespace {

struct Graph {
  std::vector<Capture::Node> nodes;
};

struct Graphs {
  std::mutex mutex;
  std::map<const Stream*, std::unique_ptr<Capture>> under_way;
  std::set<const void*> known; // graphs and their executables
};

Graphs& graphs() {
  static auto* all = new Graphs();
  return *all;
}

Graph* enlist_graph(std::vector<Capture::Node> nodes) {
  auto* graph = new Graph{std::move(nodes)};
  auto& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.known.insert(graph);
  return graph;
}

Graph* find_graph(const void* handle) {
  auto& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.known.count(handle) == 0 ? nullptr : static_cast<Graph*>(const_cast<void*>(handle));
}

musaError_t destroy_graph(const void* handle) {
  if (const auto error = enter()) {
    return remember(error);
  }
  auto& all = graphs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.known.erase(handle) == 0) {
    return remember(musaErrorInvalidValue);
  }
  delete static_cast<const Graph*>(handle);
  return musaSuccess;
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
  *graph = reinterpret_cast<musaGraph_t>(enlist_graph(std::move(capture->nodes)));
  return musaSuccess;
}

musaError_t musaGraphGetNodes(musaGraph_t handle, musaGraphNode_t* nodes, size_t* count) {
  auto* graph = find_graph(handle);
  if (graph == nullptr || count == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  for (size_t at = 0; nodes != nullptr && at < graph->nodes.size() && at < *count; ++at) {
    nodes[at] = reinterpret_cast<musaGraphNode_t>(&graph->nodes[at]);
  }
  *count = graph->nodes.size();
  return musaSuccess;
}

// An executable keeps what it needs, so the graph may be destroyed.
musaError_t musaGraphInstantiate(musaGraphExec_t* executable, musaGraph_t handle, unsigned long long) {
  if (const auto error = enter()) {
    return remember(error);
  }
  const auto* graph = find_graph(handle);
  if (graph == nullptr || executable == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  *executable = reinterpret_cast<musaGraphExec_t>(enlist_graph(graph->nodes));
  return musaSuccess;
}

musaError_t musaGraphLaunch(musaGraphExec_t handle, musaStream_t on) {
  if (const auto error = enter()) {
    return remember(error);
  }
  auto* stream = stream_of(on);
  const auto* graph = find_graph(handle);
  if (stream == nullptr || graph == nullptr) {
    return remember(stream == nullptr ? musaErrorInvalidResourceHandle : musaErrorInvalidValue);
  }
  for (const auto& node : graph->nodes) {
    run_on(stream, node.name.c_str(), node.run);
  }
  return remember(static_cast<musaError_t>(device_fault(stream->device)));
}

musaError_t musaGraphDestroy(musaGraph_t graph) {
  return destroy_graph(graph);
}

musaError_t musaGraphExecDestroy(musaGraphExec_t executable) {
  return destroy_graph(executable);
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
