#include "running.h"

#include "../ground/on_device.h"
#include "seed.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

extern "C" {
unsigned musasim_thread_index[3];
unsigned musasim_block_index[3];
unsigned musasim_block_extent[3];
unsigned musasim_grid_extent[3];
unsigned musasim_lane;
unsigned musasim_warp;
unsigned musasim_dynamic_shared_bytes;
unsigned long long musasim_block_serial;
MUSASIM_OWN unsigned musasim_own_thread_index[3];
MUSASIM_OWN unsigned musasim_own_block_index[3];
MUSASIM_OWN unsigned musasim_own_lane;
MUSASIM_OWN unsigned musasim_own_warp;
MUSASIM_OWN unsigned long long musasim_own_block_serial;
MUSASIM_OWN char* musasim_own_dynamic_shared;
alignas(1024) MUSASIM_EXPORT char musasim_dynamic_shared[musart::kMostDynamicShared];
}

namespace musart {

constexpr size_t kSharedAlignment = 1024;

// Its address is known when a thread begins, and it is never destroyed.
alignas(RunningLaunch) char place_of_the_launch[sizeof(RunningLaunch)];
RunningLaunch& the_launch = *new (place_of_the_launch) RunningLaunch();
MUSASIM_OWN RunningLaunch* t_launch = reinterpret_cast<RunningLaunch*>(place_of_the_launch);

std::string text_of(const Extent& index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + ")";
}

bool checked_thread(CheckedThread* where) {
  const auto& d = running_launch();
  if (!t_on_device || d.thread == nullptr) {
    return false;
  }
  *where = {d.block->number, d.thread->number, d.thread->number / kWarp};
  return true;
}

bool is_shared(const void* address) {
  const auto* at = static_cast<const char*>(address);
  const auto& d = running_launch();
  if (at >= d.dynamic && at < d.dynamic + d.launch->shared) {
    return true;
  }
  return std::any_of(d.block->shared.begin(), d.block->shared.end(), [&](const Shared& variable) {
    const auto* begin = static_cast<const char*>(variable.address);
    return at >= begin && at < begin + variable.bytes;
  });
}

// Numbers begin behind the first KB, as on an NVIDIA GPU, and are aligned as the addresses are.
size_t next_shared_number(const Block& block, const void* address) {
  const auto end = block.shared.empty() ? kSharedAlignment : block.shared.back().number + block.shared.back().bytes;
  return end + (reinterpret_cast<size_t>(address) - end) % kSharedAlignment;
}

bool is_on_stack(const void* address) {
  const auto* at = static_cast<const char*>(address);
  const auto* low = running_launch().fiber->stack;
  return at >= low && at < low + kFiberStack;
}

const char* checked_kernel() {
  return running_launch().launch->kernel->name;
}

void abandon_launch(musaError_t error) {
  auto& d = running_launch();
  d.error = error;
  void* nowhere = nullptr;
  switch_stacks(&nowhere, d.scheduler);
  __builtin_unreachable();
}

void report(const std::string& message) {
  const auto& d = running_launch();
  if (!tells_first(d)) return;
  std::string place = ", block " + text_of(d.block->index);
  if (d.thread != nullptr) {
    place += ", thread " + text_of(position(d.thread->number, d.launch->block));
  }
  std::fflush(stdout); // the kernel's own output comes first
  std::fprintf(stderr, "musasim: kernel %s%s: %s\n", d.launch->kernel->name, place.c_str(), message.c_str());
  tell_seed();
  std::fflush(stderr);
}

// CUDA's wording. The body of a kernel is a lambda here, which the message does not show.
void report_assertion(const char* expression, const char* file, unsigned line, const char* function) {
  const auto& d = running_launch();
  if (!tells_first(d)) return;
  std::string name(function);
  const auto lambda = name.find("::<lambda(");
  name.erase(std::min(lambda, name.size()));
  const auto& block = d.block->index;
  const auto thread = position(d.thread->number, d.launch->block);
  std::fflush(stdout);
  std::fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file, line,
      name.c_str(), block.x, block.y, block.z, thread.x, thread.y, thread.z, expression);
  tell_seed();
  std::fflush(stderr);
}

bool is_stack_overflow(const void* address) noexcept {
  const auto* low = running_launch().fiber->stack;
  const auto* at = static_cast<const char*>(address);
  return at >= low - 4096 && at < low;
}

} // namespace musart

using namespace musart;

void musasim_fault(int error, const char* message) {
  if (!t_on_device) {
    std::fprintf(stderr, "musasim: outside of a kernel: %s\n", message);
    std::abort();
  }
  report(message);
  abandon_launch(static_cast<musaError_t>(error));
}

void musasim_assert_fail(const char* expression, const char* file, unsigned line, const char* function) noexcept {
  if (!on_device()) {
    std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, expression);
    std::abort();
  }
  report_assertion(expression, file, line, function);
  abandon_launch(musaErrorAssert);
}
