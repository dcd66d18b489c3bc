#include "history.h"

#include "device.h"

#include <ATen/record_function.h>
#include <torch/csrc/profiler/combined_traceback.h>
#include <torch/csrc/profiler/unwind/unwind.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>

namespace musasim {
namespace {

std::atomic<bool> g_enabled{false};
std::atomic<Gather> g_when{Gather::Never};
std::atomic<bool> g_with_cpp{false};
std::atomic<size_t> g_limit{1};

// Texts that change seldom, under one lock.
struct Texts {
  std::mutex mutex;
  std::vector<std::string> skipped;
  std::string metadata;
};

Texts& texts() {
  static auto* kept = new Texts();
  return *kept;
}

struct Annotations {
  std::mutex mutex;
  std::deque<Annotation> all;

  void clear() {
    const std::lock_guard<std::mutex> lock(mutex);
    all.clear();
  }
  void add(const char* name, const char* stage) {
    const std::lock_guard<std::mutex> lock(mutex);
    all.push_back({name, stage, current_device(), unix_time_us()});
    while (all.size() > history_limit()) {
      all.pop_front();
    }
  }
};

Annotations& kept_annotations() {
  static auto* kept = new Annotations();
  return *kept;
}

void annotate(const at::RecordFunction& region, const char* stage) {
  if (history_enabled()) {
    kept_annotations().add(region.name(), stage);
  }
}

std::unique_ptr<at::ObserverContext> enter_region(const at::RecordFunction& region) {
  annotate(region, "START");
  return nullptr;
}

void leave_region(const at::RecordFunction& region, at::ObserverContext*) {
  annotate(region, "END");
}

// torch_musa observes the thread that first records a history, and no other.
void observe_regions() {
  static std::once_flag once;
  std::call_once(once, [] {
    at::addThreadLocalCallback(
        at::RecordFunctionCallback(&enter_region, &leave_region).scopes({at::RecordScope::USER_SCOPE}));
  });
}

} // namespace

void set_history(const HistorySettings& settings) {
  if (settings.with_cpp) {
    torch::unwind::unwind(); // reads the tables of all libraries once
  }
  observe_regions();
  {
    const std::lock_guard<std::mutex> lock(texts().mutex);
    texts().skipped = settings.skipped;
  }
  g_limit = settings.max_entries;
  g_with_cpp = settings.with_cpp;
  g_when = settings.enabled ? settings.when : Gather::Never;
  g_enabled = settings.enabled;
  kept_annotations().clear();
}

bool history_enabled() {
  return g_enabled.load(std::memory_order_relaxed);
}

size_t history_limit() {
  return g_limit;
}

bool is_skipped(const char* action) {
  const std::lock_guard<std::mutex> lock(texts().mutex);
  const auto& all = texts().skipped;
  return std::find(all.begin(), all.end(), action) != all.end();
}

void set_memory_metadata(std::string text) {
  const std::lock_guard<std::mutex> lock(texts().mutex);
  texts().metadata = std::move(text);
}

std::string memory_metadata() {
  const std::lock_guard<std::mutex> lock(texts().mutex);
  return texts().metadata;
}

Context gather_context(Gather event) {
  if (C10_LIKELY(g_when.load(std::memory_order_relaxed) < event)) {
    return nullptr;
  }
  return torch::CapturedTraceback::gather(/*python=*/true, /*script=*/true, g_with_cpp);
}

Context for_history(Context context) {
  return g_when.load(std::memory_order_relaxed) >= Gather::Alloc ? std::move(context) : nullptr;
}

std::vector<Annotation> annotations() {
  auto& kept = kept_annotations();
  const std::lock_guard<std::mutex> lock(kept.mutex);
  return {kept.all.begin(), kept.all.end()};
}

int64_t unix_time_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

} // namespace musasim
