#include "kernel_node.h"

#include "launch.h"

#include <mutex>
#include <set>

namespace musart {
namespace {

struct Names {
  std::mutex mutex;
  std::set<const void*> all;
};
Names& names() {
  static auto* all = new Names();
  return *all;
}

struct Collector : musasim_parameters {
  std::vector<Parameter> found;
};

} // namespace

std::vector<Parameter> KernelNode::parameters() const {
  Collector collector;
  collector.add = [](musasim_parameters* self, void* address, size_t bytes) {
    static_cast<Collector*>(self)->found.push_back({address, bytes});
  };
  tell(data.get(), &collector);
  return std::move(collector.found);
}

std::shared_ptr<KernelNode> KernelNode::copied() const {
  auto other = std::make_shared<KernelNode>(*this);
  other->data = std::shared_ptr<void>(closure->copy(data.get()), closure->destroy);
  other->told.clear();
  return other;
}

void run_kernel(const KernelNode& node) {
  run_launch(node.launch, node.device, nullptr, node.data.get(), *node.closure);
}

void* function_of(const KernelNode& node) {
  if (node.function != nullptr) {
    return const_cast<void*>(node.function);
  }
  auto& known = names();
  const std::lock_guard<std::mutex> lock(known.mutex);
  known.all.insert(node.launch.kernel);
  return node.launch.kernel;
}

bool is_name_of_kernel(const void* function) {
  auto& known = names();
  const std::lock_guard<std::mutex> lock(known.mutex);
  return known.all.count(function) != 0;
}

} // namespace musart
