// Launches: their configuration, refusals, the effects of a fault, and kernels in graphs.
#include "api.h"
#include "block.h"
#include "kernel_node.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

namespace musart {
namespace {

constexpr size_t kUsualDynamicShared = 48 << 10;
constexpr Extent kLargestBlock = {1024, 1024, 64};
constexpr Extent kLargestGrid = {0x7fffffff, 65535, 65535};

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

std::atomic<int> g_fault[kMaxDevices];

bool fits(const Extent& extent, const Extent& limit) {
  return extent.count() != 0 && extent.x <= limit.x && extent.y <= limit.y && extent.z <= limit.z;
}

// A device runs only code for its own major architecture, and of that only code for an equal or older version.
bool has_code_for_device(const musasim_kernel& kernel) {
  const auto& properties = device_properties();
  const int own = properties.major * 10 + properties.minor;
  const char* at = kernel.architectures;
  for (char* end = nullptr; at != nullptr && *at != '\0'; at = end) {
    const long number = std::strtol(at, &end, 10);
    if (end == at) {
      break;
    }
    if (number / 10 == own / 10 && number <= own) {
      return true;
    }
  }
  return false;
}

constexpr int kThreadsOfMultiprocessor = 2048;
constexpr int kBlocksOfMultiprocessor = 32;

int blocks_that_fit(const musasim_kernel& kernel, int threads, size_t shared) {
  const int most = kernel.max_threads == 0 ? static_cast<int>(kMaxThreads) : static_cast<int>(kernel.max_threads);
  if (threads > most) {
    return 0;
  }
  const int whole_warps = (threads + MUSASIM_WARP_SIZE - 1) / MUSASIM_WARP_SIZE * MUSASIM_WARP_SIZE;
  const size_t bytes = shared + kernel.static_shared;
  const size_t by_memory = bytes == 0 ? kBlocksOfMultiprocessor : kMostDynamicShared / bytes;
  const auto by_threads = static_cast<size_t>(kThreadsOfMultiprocessor / whole_warps);
  return static_cast<int>(std::min({static_cast<size_t>(kBlocksOfMultiprocessor), by_memory, by_threads}));
}

} // namespace

musaError_t check_launch(const Launch& wanted) {
  const auto& kernel = *wanted.kernel;
  if (!fits(wanted.grid, kLargestGrid) || !fits(wanted.block, kLargestBlock) || wanted.block.count() > kMaxThreads) {
    return musaErrorInvalidConfiguration;
  }
  if (!has_code_for_device(kernel)) {
    return musaErrorNoKernelImageForDevice;
  }
  if (kernel.max_threads != 0 && wanted.block.count() > kernel.max_threads) {
    return musaErrorLaunchOutOfResources;
  }
  if (wanted.cooperative) { // all its blocks have to fit on the device at the same time
    const int each = blocks_that_fit(kernel, static_cast<int>(wanted.block.count()), wanted.shared);
    if (wanted.grid.count() > static_cast<size_t>(each) * static_cast<size_t>(device_properties().multi_processor_count)) {
      return musaErrorCooperativeLaunchTooLarge;
    }
  }
  const size_t limit = std::max<size_t>(kUsualDynamicShared, kernel.dynamic_limit);
  return wanted.shared <= limit && wanted.shared + kernel.static_shared <= kMostDynamicShared ? musaSuccess
                                                                                               : musaErrorInvalidValue;
}

namespace {

// --- bad addresses in kernels ------------------------------------------------------------------------------------------

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

struct Handlers {
  struct sigaction before[std::size(kSignals)];
  stack_t stack_before;
};

std::atomic<const Handlers*> g_handlers{nullptr}; // of the kernel that is running

// A signal of another thread does not concern us. It comes again, and then the previous handler gets it.
void hand_on(int number) {
  const auto* handlers = g_handlers.load();
  const auto at = std::find(std::begin(kSignals), std::end(kSignals), number) - std::begin(kSignals);
  if (handlers == nullptr) {
    signal(number, SIG_DFL);
  } else {
    sigaction(number, &handlers->before[at], nullptr);
  }
}

void on_signal(int number, siginfo_t* information, void*) {
  if (!on_device()) {
    hand_on(number);
    return;
  }
  sigset_t these;
  sigemptyset(&these);
  sigaddset(&these, number);
  pthread_sigmask(SIG_UNBLOCK, &these, nullptr); // this handler is never returned from
  if (number == SIGFPE) {
    report("an integer was divided by zero: a device continues, with an undefined result");
    abandon_launch(musaErrorLaunchFailure);
  }
  if (number == SIGILL) {
    report("an instruction that this processor lacks");
    abandon_launch(musaErrorLaunchFailure);
  }
  char text[96];
  const char* format = is_stack_overflow(information->si_addr) ? "the thread's stack is full, at address %p"
                                                               : "no memory of the device at address %p";
  std::snprintf(text, sizeof(text), format, information->si_addr);
  report(text);
  abandon_launch(musaErrorIllegalAddress);
}

// Handlers belong to the process, so they are installed only while a kernel runs. A full stack needs a separate stack for them.
void catch_signals(Handlers& handlers) {
  thread_local static char* stack = static_cast<char*>(std::malloc(64 << 10));
  stack_t own = {};
  own.ss_sp = stack;
  own.ss_size = 64 << 10;
  sigaltstack(&own, &handlers.stack_before);
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (size_t at = 0; at < std::size(kSignals); ++at) {
    sigaction(kSignals[at], &action, &handlers.before[at]);
  }
  g_handlers = &handlers;
}

void restore_signals(const Handlers& handlers) {
  g_handlers = nullptr;
  for (size_t at = 0; at < std::size(kSignals); ++at) {
    sigaction(kSignals[at], &handlers.before[at], nullptr);
  }
  sigaltstack(&handlers.stack_before, nullptr);
}

// --- launching ---------------------------------------------------------------------------------------------------------

void run(const Launch& launch, int on, const void* data, const musasim_closure& closure) {
  if (device_fault(on) != musaSuccess) {
    return;
  }
  static auto* one_at_a_time = new std::mutex();
  const std::lock_guard<std::mutex> lock(*one_at_a_time);
  Handlers handlers;
  catch_signals(handlers);
  const auto error = run_grid(launch, data, closure);
  restore_signals(handlers);
  if (error == musaErrorCooperativeLaunchTooLarge || error == musaErrorLaunchOutOfResources) {
    remember(error);
  } else if (error != musaSuccess) {
    g_fault[on] = error;
  }
}

musaError_t
launch(musasim_kernel& kernel, const Configuration& wanted, const void* data, const musasim_closure& closure, Tell tell) {
  if (const auto error = enter()) {
    return error;
  }
  auto* stream = stream_of(wanted.stream);
  if (stream == nullptr || stream->device != current_device()) {
    return musaErrorInvalidResourceHandle;
  }
  const Launch what = {&kernel, wanted.grid, wanted.block, wanted.shared, wanted.cooperative};
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
  run(what, on, data, closure);
  return musaSuccess;
}

// The kernel at the address of its function, or nullptr if there is none. If it is another function, this calls it.
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

} // namespace

void run_kernel(const KernelNode& node) {
  run(node.launch, node.device, node.data.get(), *node.closure);
}

int device_fault(int device) noexcept {
  return g_fault[device].load(std::memory_order_relaxed);
}

void fail_device(int device, int error) noexcept {
  g_fault[device] = error;
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
  if (on_device()) {
    musasim_fault(musaErrorLaunchFailure, "a kernel was launched from a kernel");
  }
  if (t_configurations.empty()) {
    remember(musaErrorMissingConfiguration);
    return;
  }
  const auto wanted = t_configurations.back();
  t_configurations.pop_back();
  remember(launch(*kernel, wanted, data, *closure, tell));
}

void musasim_assert_fail(const char* expression, const char* file, unsigned line, const char* function) noexcept {
  if (!on_device()) {
    std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, expression);
    std::abort();
  }
  report_assertion(expression, file, line, function);
  abandon_launch(musaErrorAssert);
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

// Runs at once, because all earlier work has run already. It waits for the stream's clock, because the function may measure time.
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
  wait_until(stream->busy_until.load());
  function(data);
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
  wait_until(stream->busy_until.load());
  callback(handle, static_cast<musaError_t>(device_fault(stream->device)), data);
  return musaSuccess;
}

musaError_t musaFuncSetAttribute(const void* function, musaFuncAttribute attribute, int value) {
  if (const auto error = enter()) {
    return remember(error);
  }
  auto* kernel = kernel_of(function);
  if (kernel == nullptr) {
    return remember(musaErrorInvalidDeviceFunction);
  }
  if (attribute == musaFuncAttributePreferredSharedMemoryCarveout) {
    if (value < musaSharedmemCarveoutDefault || value > musaSharedmemCarveoutMaxShared) {
      return remember(musaErrorInvalidValue);
    }
    kernel->carveout = value;
    return musaSuccess;
  }
  const bool possible = attribute == musaFuncAttributeMaxDynamicSharedMemorySize && value >= 0 &&
      static_cast<size_t>(value) + kernel->static_shared <= kMostDynamicShared;
  if (!possible) {
    return remember(musaErrorInvalidValue);
  }
  kernel->dynamic_limit = static_cast<unsigned>(value);
  return musaSuccess;
}

musaError_t musaFuncSetCacheConfig(const void* function, musaFuncCache) {
  return remember(kernel_of(function) == nullptr ? musaErrorInvalidDeviceFunction : enter());
}

musaError_t musaFuncSetSharedMemConfig(const void* function, musaSharedMemConfig) {
  return remember(kernel_of(function) == nullptr ? musaErrorInvalidDeviceFunction : enter());
}

musaError_t musaFuncGetAttributes(musaFuncAttributes* attributes, const void* function) {
  if (const auto error = enter()) {
    return remember(error);
  }
  const auto* kernel = kernel_of(function);
  if (attributes == nullptr || kernel == nullptr) {
    return remember(attributes == nullptr ? musaErrorInvalidValue : musaErrorInvalidDeviceFunction);
  }
  const auto& properties = device_properties();
  *attributes = {};
  attributes->sharedSizeBytes = kernel->static_shared;
  attributes->maxThreadsPerBlock = kernel->max_threads == 0 ? kMaxThreads : static_cast<int>(kernel->max_threads);
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = properties.major * 10 + properties.minor;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(std::max<size_t>(kUsualDynamicShared, kernel->dynamic_limit));
  attributes->preferredShmemCarveout = kernel->carveout;
  return musaSuccess;
}

musaError_t musaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads, size_t shared) {
  return musaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

musaError_t musaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int threads, size_t shared, unsigned flags) {
  if (const auto error = enter()) {
    return remember(error);
  }
  const auto* kernel = kernel_of(function);
  if (kernel == nullptr) {
    return remember(musaErrorInvalidDeviceFunction);
  }
  if (blocks == nullptr || threads <= 0 || flags > 1) {
    return remember(musaErrorInvalidValue);
  }
  *blocks = blocks_that_fit(*kernel, threads, shared);
  return musaSuccess;
}

musaError_t musasim_occupancy_block_size(
    int* grid, int* block, const void* function, size_t (*shared_of)(int, const void*), const void* context, int limit) {
  if (const auto error = enter()) {
    return remember(error);
  }
  const auto* kernel = kernel_of(function);
  if (kernel == nullptr || grid == nullptr || block == nullptr) {
    return remember(kernel == nullptr ? musaErrorInvalidDeviceFunction : musaErrorInvalidValue);
  }
  const int most = kernel->max_threads == 0 ? static_cast<int>(kMaxThreads) : static_cast<int>(kernel->max_threads);
  const int largest = limit > 0 ? std::min(limit, most) : most;
  int best = 0;
  for (int size = largest; size > 0; size = (size - 1) / MUSASIM_WARP_SIZE * MUSASIM_WARP_SIZE) {
    const int active = blocks_that_fit(*kernel, size, shared_of(size, context));
    if (active * size > best) {
      best = active * size;
      *block = size;
      *grid = active * device_properties().multi_processor_count;
    }
  }
  return remember(best == 0 ? musaErrorInvalidValue : musaSuccess);
}
