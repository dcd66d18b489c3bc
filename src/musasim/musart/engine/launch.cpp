#include "launch.h"

#include "../driver/device.h"
#include "../driver/launch_watcher.h"
#include "../driver/protected_memory.h"
#include "../ground/last_error.h"
#include "block.h"
#include "launched_accesses.h"
#include "signals.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>

namespace musart {
namespace {

constexpr Extent kLargestBlock = {1024, 1024, 64};
constexpr Extent kLargestGrid = {0x7fffffff, 65535, 65535};

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

} // namespace

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
  return fits_in_shared(kernel, kernel.static_shared, wanted.shared) ? musaSuccess : musaErrorInvalidValue;
}

bool fits_in_shared(const musasim_kernel& kernel, size_t fixed, size_t dynamic) {
  const size_t usual = kUsualShared - std::min(kUsualShared, fixed);
  const size_t limit = std::max<size_t>(usual, kernel.dynamic_limit);
  return fixed <= kUsualShared && dynamic <= limit && dynamic + fixed <= kMostDynamicShared;
}

namespace {

void run_unwatched(const Launch& launch, int device, Stream* stream, const void* data, const musasim_closure& closure) {
  static auto* one_at_a_time = new std::mutex();
  const std::lock_guard<std::mutex> lock(*one_at_a_time);
  const streamcheck::AsDevice as_device;
  const DeviceWork work;
  Handlers handlers;
  catch_signals(handlers);
  const auto error = run_grid(launch, data, closure);
  restore_signals(handlers);
  streamcheck::end_of_launch(stream, launch.kernel->name);
  if (error == musaErrorCooperativeLaunchTooLarge || error == musaErrorLaunchOutOfResources || error == musaErrorInvalidValue) {
    remember(error);
  } else if (error != musaSuccess) {
    fail_device(device, error);
  }
}

} // namespace

void run_launch(const Launch& launch, int device, Stream* stream, const void* data, const musasim_closure& closure) {
  if (device_fault(device) != musaSuccess) {
    return;
  }
  const auto watcher = launch_watcher.load(std::memory_order_relaxed);
  if (__builtin_expect(watcher == nullptr, 1)) {
    run_unwatched(launch, device, stream, data, closure);
    return;
  }
  const auto& kernel = *launch.kernel;
  const auto extent = [](const Extent& e) { return Extents{e.x, e.y, e.z}; };
  LaunchedKernel launched{kernel.name, extent(launch.grid), extent(launch.block), launch.shared, device, stream};
  watcher(launched, [&] {
    run_unwatched(launch, device, stream, data, closure);
    launched.shared += kernel.static_shared; // which the first launch of a kernel finds out
  });
}

} // namespace musart
