// Graphs of the runtime API. They repeat the work that a stream was given between two calls.
#include "../driver/capture.h"
#include "../driver/device.h"
#include "../driver/graph.h"
#include "../driver/graph_launches.h"
#include "../engine/kernel_node.h"
#include "gate.h"
#include "stream.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace musart {
namespace {

struct Captures {
  std::mutex mutex;
  std::map<const Stream*, std::unique_ptr<Capture>> under_way; // those that were begun here
};

Captures& captures() {
  static auto* all = new Captures();
  return *all;
}

// The capture of a stream, if it was begun here.
std::unique_ptr<Capture> take_capture(const Stream& stream) {
  auto& all = captures();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.under_way.find(&stream);
  if (found == all.under_way.end()) {
    return nullptr;
  }
  auto capture = std::move(found->second);
  all.under_way.erase(found);
  return capture;
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

musaError_t destroy_graph(const void* handle, bool is_executable) {
  if (const auto error = enter()) {
    return remember(error);
  }
  return remember(forget_graph(handle, is_executable) ? musaSuccess : musaErrorInvalidValue);
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
  auto& all = captures();
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
