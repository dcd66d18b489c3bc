#include "graph.h"

#include "../ground/environment.h"

#include <algorithm>
#include <mutex>
#include <set>

namespace musart {
namespace {

struct Graphs {
  std::mutex mutex;
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

const Capture::Node* node_at(const Nodes& nodes, const void* handle) {
  const auto at = std::find_if(nodes.begin(), nodes.end(), [&](const Capture::Node& node) { return &node == handle; });
  return at == nodes.end() ? nullptr : &*at;
}

} // namespace

Graph* enlist_graph(std::shared_ptr<const Nodes> nodes, std::shared_ptr<const Nodes> origin) {
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

bool forget_graph(const void* handle, bool is_executable) {
  auto& all = graphs();
  std::unique_ptr<const Graph> graph; // freed after the lock: what the nodes hold may call the runtime when it goes
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto* found = static_cast<const Graph*>(handle);
  if (all.known.count(handle) == 0 || found->is_executable != is_executable) {
    return false;
  }
  all.known.erase(handle);
  all.executables -= is_executable ? 1 : 0;
  graph.reset(found);
  return true;
}

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
