// Kernels in graphs: how programs ask for what a node launches, and change it.
#include "../driver/graph.h"
#include "../driver/graph_launches.h"
#include "../engine/kernel_node.h"
#include "../engine/launch.h"
#include "extent.h"
#include "gate.h"

#include <cstring>
#include <string>

namespace musart {
namespace {

bool begins(const std::string& text, const char* with) {
  return text.rfind(with, 0) == 0;
}

musaGraphNodeType type_of(const Capture::Node& node) {
  if (begins(node.name, "musaMemcpy")) return musaGraphNodeTypeMemcpy;
  if (begins(node.name, "musaMemset")) return musaGraphNodeTypeMemset;
  return node.name == "musaLaunchHostFunc" ? musaGraphNodeTypeHost : musaGraphNodeTypeKernel;
}

// An error that says why a node has no parameters of a kernel; musaSuccess where it has.
musaError_t check_asked(const Capture::Node& node) {
  if (type_of(node) != musaGraphNodeTypeKernel) return musaErrorInvalidValue;
  return node.kernel == nullptr || node.kernel->tell == nullptr ? musaErrorNotSupported : musaSuccess;
}

musaError_t change(KernelNode& node, const musaKernelNodeParams& wanted) {
  if (wanted.func != function_of(node) || wanted.extra != nullptr) return musaErrorNotSupported;
  Launch launch = node.launch;
  launch.grid = extent_of(wanted.gridDim);
  launch.block = extent_of(wanted.blockDim);
  launch.shared = wanted.sharedMemBytes;
  if (const auto error = check_launch(launch)) return error;
  const auto parameters = node.parameters();
  if (!parameters.empty() && wanted.kernelParams == nullptr) return musaErrorInvalidValue;
  node.launch = launch;
  for (size_t at = 0; at < parameters.size(); ++at) {
    std::memmove(parameters[at].address, wanted.kernelParams[at], parameters[at].bytes);
  }
  return musaSuccess;
}

} // namespace
} // namespace musart

using namespace musart;

musaError_t musaGraphNodeGetType(musaGraphNode_t handle, musaGraphNodeType* type) {
  const auto* node = find_node(handle);
  if (node == nullptr || type == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  *type = type_of(*node);
  return musaSuccess;
}

musaError_t musaGraphKernelNodeGetParams(musaGraphNode_t handle, musaKernelNodeParams* parameters) {
  const auto* node = find_node(handle);
  if (node == nullptr || parameters == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  if (const auto error = check_asked(*node)) {
    return remember(error);
  }
  auto& kernel = *node->kernel;
  if (kernel.told.empty()) {
    for (const auto& each : kernel.parameters()) kernel.told.push_back(each.address);
  }
  const auto& launch = kernel.launch;
  *parameters = {function_of(kernel), {launch.grid.x, launch.grid.y, launch.grid.z},
      {launch.block.x, launch.block.y, launch.block.z}, static_cast<unsigned>(launch.shared), kernel.told.data(), nullptr};
  return musaSuccess;
}

musaError_t musaGraphExecKernelNodeSetParams(
    musaGraphExec_t executable, musaGraphNode_t handle, const musaKernelNodeParams* parameters) {
  finish_launches(); // the new parameters are for later ones
  const auto* node = find_node_of(executable, handle);
  if (node == nullptr || parameters == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  if (const auto error = check_asked(*node)) {
    return remember(error);
  }
  return remember(change(*node->kernel, *parameters));
}
