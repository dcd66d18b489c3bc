#include "trace.h"

#include "capture.h"
#include "launches.h"
#include "stream.h"

#include <chrono>
#include <mutex>

namespace musasim {

std::atomic<bool> g_tracing{false};

namespace {

std::mutex g_trace_mutex;
std::vector<WorkRecord>& trace_records() {
  static auto* all = new std::vector<WorkRecord>();
  return *all;
}

// An operator that was running when a trace ended never reports its end, so each trace has its own stack.
std::atomic<unsigned> g_trace_number{0};
struct Correlations {
  unsigned trace = 0;
  std::vector<uint64_t> ids;
};
thread_local Correlations t_correlations;

std::vector<uint64_t>& correlations() {
  const auto trace = g_trace_number.load();
  if (t_correlations.trace != trace) {
    t_correlations = {trace, {}};
  }
  return t_correlations.ids;
}

int64_t unix_offset_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - now_ns();
}

const char* short_name(const char* name) {
  constexpr std::string_view aten = "aten::";
  return std::string_view(name).substr(0, aten.size()) == aten ? name + aten.size() : name;
}

} // namespace

void start_trace() {
  musart::finish_launches();
  std::lock_guard<std::mutex> lock(g_trace_mutex);
  trace_records().clear();
  ++g_trace_number;
  g_tracing = true;
}

std::vector<WorkRecord> stop_trace() {
  musart::finish_launches();
  std::lock_guard<std::mutex> lock(g_trace_mutex);
  g_tracing = false;
  return std::exchange(trace_records(), {});
}

void push_correlation(uint64_t id) {
  correlations().push_back(id);
}

void pop_correlation() {
  auto& ids = correlations();
  if (!ids.empty()) {
    ids.pop_back();
  }
}

void trace_work(Work kind, std::string name, c10::Stream stream, int64_t start_ns, int64_t end_ns) {
  const auto offset = unix_offset_ns();
  const auto& ids = correlations();
  WorkRecord record{
      std::move(name), kind, start_ns + offset, end_ns + offset, stream.device_index(), stream.id(), ids.empty() ? 0 : ids.back()};
  std::lock_guard<std::mutex> lock(g_trace_mutex);
  if (is_tracing()) {
    trace_records().push_back(std::move(record));
  }
}

void TracedWork::begin(Work kind, const char* name, c10::DeviceIndex device) {
  if (active_capture() != nullptr) {
    return;
  }
  name_ = name;
  kind_ = kind;
  device_ = device;
  start_ns_ = now_ns();
}

void TracedWork::end() {
  const auto end_ns = now_ns();
  const auto stream = current_stream(device_);
  // A device would start this after the earlier work of the stream.
  const auto delay = std::max<int64_t>(stream_state(stream).busy_until.load() - start_ns_, 0);
  const auto prefix = kind_ == Work::Kernel ? "musasim::" : "";
  trace_work(kind_, std::string(prefix) + short_name(name_), stream, start_ns_ + delay, end_ns + delay);
}

} // namespace musasim
