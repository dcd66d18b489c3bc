// Graphs and executables of them, by their handles.
#pragma once

#include "capture.h"

#pragma GCC visibility push(default)
namespace musart {

// A graph of the runtime API that does these operations, as its handle, and the operations of a graph or of an executable of one.
void* make_graph(std::vector<Capture::Node> nodes);
std::shared_ptr<const std::vector<Capture::Node>> nodes_of(const void* handle); // nullptr: there is no such graph

} // namespace musart
#pragma GCC visibility pop

namespace musart {

using Nodes = std::vector<Capture::Node>;

struct Graph {
  std::shared_ptr<const Nodes> nodes;
  std::shared_ptr<const Nodes> origin; // of an executable: those of its graph
  bool is_executable;
};

// A new graph or, where an origin is given, an executable; nullptr for an executable beyond the limit.
Graph* enlist_graph(std::shared_ptr<const Nodes> nodes, std::shared_ptr<const Nodes> origin = nullptr);
Graph* find_graph(const void* handle);
const Graph* find_executable(const void* handle);
bool forget_graph(const void* handle, bool is_executable); // false if there is no such graph or executable

// A node of a graph, by its address; and that of an executable which was made of it. nullptr if there is none.
const Capture::Node* find_node(const void* handle);
const Capture::Node* find_node_of(const void* executable, const void* handle);

} // namespace musart
