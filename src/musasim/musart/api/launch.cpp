// Launches: their configuration, by <<<...>>> or by the API's functions.
#include "launch.h"

#include "../driver/capture.h"
#include "../driver/device.h"
#include "../driver/graph_launches.h"
#include "../driver/launch_watcher.h"
#include "../driver/postponed.h"
#include "../driver/streamcheck.h"
#include "../engine/kernel_node.h"
#include "../engine/launch.h"
#include "../ground/on_device.h"
#include "extent.h"
#include "gate.h"
#include "stream.h"

#include <memory>
#include <vector>

namespace musart {
namespace {

struct Configuration {
  Extent grid;
  Extent block;
  size_t shared = 0;
  musaStream_t stream = nullptr;
  bool cooperative = false;
  const void* function = nullptr; // where a program has named it
};

// Pushed by <<<...>>>, whose arguments may contain other launches, so configurations nest.
thread_local std::vector<Configuration> t_configurations;

// Set while a kernel's function is called only to identify its kernel.
thread_local musasim_kernel** t_asking = nullptr;

// Not while a profile is recorded, which knows a kernel by the call that runs it.
bool may_wait(const Launch& launch) {
  const bool recorded = launch_watcher.load(std::memory_order_relaxed) != nullptr;
  return postponed::wanted() && !launch.cooperative && !recorded && running_captures.load(std::memory_order_relaxed) == 0;
}

musaError_t
launch(musasim_kernel& kernel, const Configuration& wanted, const void* data, const musasim_closure& closure, Tell tell, bool threaded) {
  if (const auto error = enter_to_queue()) {
    return error;
  }
  auto* stream = stream_of(wanted.stream);
  if (stream == nullptr || stream->device != current_device()) {
    return musaErrorInvalidResourceHandle;
  }
  const Launch what = {&kernel, wanted.grid, wanted.block, wanted.shared, wanted.cooperative, threaded};
  if (const auto error = check_launch(what)) {
    return error;
  }
  const int on = stream->device;
  if (auto* capture = stream->capture.load()) {
    const std::shared_ptr<void> own(closure.copy(data), closure.destroy);
    auto node = std::make_shared<KernelNode>(KernelNode{what, on, own, &closure, tell, wanted.function, {}});
    capture->add({kernel.name, [node] { run_kernel(*node); }, node}, *stream);
    return musaSuccess;
  }
  if (may_wait(what)) {
    const std::shared_ptr<void> own(closure.copy(data), closure.destroy);
    postponed::add(*stream, [=, &closure] { run_launch(what, on, stream, own.get(), closure); });
    return musaSuccess;
  }
  postponed::finish_before(*stream);
  run_launch(what, on, stream, data, closure);
  return musaSuccess;
}

musaError_t launch_function(const void* function, const Configuration& wanted, void** arguments) {
  auto* kernel = is_name_of_kernel(function) ? nullptr : kernel_of(function);
  if (kernel == nullptr) {
    return remember(musaErrorInvalidDeviceFunction);
  }
  const auto before = musaPeekAtLastError();
  musaGetLastError();
  t_configurations.push_back(wanted);
  t_configurations.back().function = function;
  kernel->call(reinterpret_cast<void (*)()>(const_cast<void*>(function)), arguments);
  const auto error = musaPeekAtLastError();
  if (error == musaSuccess) {
    remember(before);
  }
  return error;
}

// Runs at once, because all earlier work has run already. It waits for the stream's clock, because the function may measure time. The
// function may tell the rest of the program that the stream has come so far.
template <typename Function>
void run_host_function(Stream& stream, Function function) {
  postponed::finish_before(stream);
  wait_until(stream.busy_until.load());
  {
    const streamcheck::AsDevice part_of_the_stream;
    function();
  }
  streamcheck::host_waited_for(stream);
}

void launch_configured(musasim_kernel* kernel, const void* data, const musasim_closure* closure, Tell tell, bool threaded) {
  if (on_device()) {
    musasim_fault(musaErrorLaunchFailure, "a kernel was launched from a kernel");
  }
  if (t_configurations.empty()) {
    remember(musaErrorMissingConfiguration);
    return;
  }
  const auto wanted = t_configurations.back();
  t_configurations.pop_back();
  remember(launch(*kernel, wanted, data, *closure, tell, threaded));
}

} // namespace

musasim_kernel* kernel_of(const void* function) {
  musasim_kernel* found = nullptr;
  if (is_name_of_kernel(function)) {
    return static_cast<musasim_kernel*>(const_cast<void*>(function));
  }
  if (function != nullptr) {
    t_asking = &found;
    reinterpret_cast<void (*)()>(const_cast<void*>(function))();
    t_asking = nullptr;
  }
  return found;
}

} // namespace musart

using namespace musart;

void musasim_configure(const unsigned grid[3], const unsigned block[3], size_t shared, musaStream_t stream) {
  t_configurations.push_back({{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared, stream, false});
}

int musasim_asked(musasim_kernel* kernel) {
  if (t_asking == nullptr) {
    return 0;
  }
  *t_asking = kernel;
  return 1;
}

void musasim_launch(musasim_kernel* kernel, const void* data, const musasim_closure* closure) {
  musasim_launch_telling(kernel, data, closure, nullptr);
}

void musasim_launch_telling(musasim_kernel* kernel, const void* data, const musasim_closure* closure, Tell tell) {
  launch_configured(kernel, data, closure, tell, false);
}

void musasim_launch_threaded(musasim_kernel* kernel, const void* data, const musasim_closure* closure, Tell tell) {
  launch_configured(kernel, data, closure, tell, true);
}

musaError_t musaLaunchKernel(
    const void* function, MusartExtent grid, MusartExtent block, void** arguments, size_t shared, musaStream_t stream) {
  return launch_function(function, {extent_of(grid), extent_of(block), shared, stream, false}, arguments);
}

musaError_t musaLaunchCooperativeKernel(
    const void* function, MusartExtent grid, MusartExtent block, void** arguments, size_t shared, musaStream_t stream) {
  return launch_function(function, {extent_of(grid), extent_of(block), shared, stream, true}, arguments);
}

musaError_t musaLaunchKernelExC(const musaLaunchConfig_t* config, const void* function, void** arguments) {
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) {
    return remember(musaErrorInvalidValue);
  }
  bool cooperative = false;
  for (unsigned at = 0; at < config->numAttrs; ++at) {
    const auto& attribute = config->attrs[at];
    if (attribute.id == musaLaunchAttributeCooperative) {
      cooperative = attribute.val.cooperative != 0;
    } else if (attribute.id == musaLaunchAttributeClusterDimension) {
      const auto& cluster = attribute.val.clusterDim;
      if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0) return remember(musaErrorInvalidValue);
      if (cluster.x * cluster.y * cluster.z != 1) return remember(musaErrorNotSupported);
    } else if (attribute.id != musaLaunchAttributeIgnore && attribute.id != musaLaunchAttributePriority) {
      return remember(musaErrorNotSupported);
    }
  }
  const Configuration wanted{
      extent_of(config->gridDim), extent_of(config->blockDim), config->dynamicSmemBytes, config->stream, cooperative};
  return launch_function(function, wanted, arguments);
}

void musasim_as_kernel(const char* name, musaStream_t handle, void (*work)(void*), void* data) {
  const auto watcher = launch_watcher.load(std::memory_order_relaxed);
  const auto* const own = stream_of(handle);
  if (watcher == nullptr || own == nullptr) {
    work(data);
    return;
  }
  const auto* const replaying = replaying_stream();
  const auto* const stream = replaying != nullptr && replaying->device == own->device ? replaying : own;
  watcher({name, kNoExtent, kNoExtent, 0, stream->device, stream}, [=] { work(data); });
}

musaError_t musaLaunchHostFunc(musaStream_t handle, musaHostFn_t function, void* data) {
  if (const auto error = enter()) {
    return remember(error);
  }
  auto* stream = stream_of(handle);
  if (stream == nullptr) {
    return remember(musaErrorInvalidResourceHandle);
  }
  if (function == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  if (auto* capture = stream->capture.load()) {
    capture->add({"musaLaunchHostFunc", [=] { function(data); }, nullptr, /*at_once=*/true}, *stream);
    return musaSuccess;
  }
  run_host_function(*stream, [&] { function(data); });
  return musaSuccess;
}

musaError_t musaStreamAddCallback(musaStream_t handle, musaStreamCallback_t callback, void* data, unsigned int flags) {
  Stream* stream = nullptr;
  if (const auto error = enter_stream(handle, &stream)) {
    return remember(error);
  }
  if (callback == nullptr || flags != 0) {
    return remember(musaErrorInvalidValue);
  }
  run_host_function(*stream, [&] { callback(handle, static_cast<musaError_t>(device_fault(stream->device)), data); });
  return musaSuccess;
}
