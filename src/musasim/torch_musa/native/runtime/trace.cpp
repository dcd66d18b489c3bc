#include "trace.h"

#include "capture.h"
#include "launches.h"
#include "release.h"
#include "stream.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <mutex>

namespace musasim {

std::atomic<bool> g_tracing{false};

namespace {

std::mutex g_trace_mutex;
std::vector<ProfiledRecord>& trace_records() {
  static auto* all = new std::vector<ProfiledRecord>();
  return *all;
}

// An operator that was running when a trace ended never reports its end, so each trace has its own stacks.
std::atomic<unsigned> g_trace_number{0};
struct RunningIds {
  unsigned trace = 0;
  std::array<std::vector<uint64_t>, 2> ids;
};
thread_local RunningIds t_running;

std::vector<uint64_t>& running(Running kind) {
  const auto trace = g_trace_number.load();
  if (t_running.trace != trace) {
    t_running = {trace, {}};
  }
  return t_running.ids[static_cast<size_t>(kind)];
}

uint64_t innermost(Running kind) {
  const auto& ids = running(kind);
  return ids.empty() ? 0 : ids.back();
}

// PyTorch adds up the device's time for the operator whose number equals that of an event, even if the event is a call. So calls have
// numbers that no operator has.
constexpr uint32_t kFirstCall = 1u << 30;
uint32_t next_correlation() {
  static std::atomic<uint32_t> last{0};
  return kFirstCall + ++last % kFirstCall;
}

thread_local uint32_t t_started_by = 0;

// The clocks may drift apart. Between two records of one launch the distance must not change, or work would begin before its call.
int64_t unix_offset_ns() {
  constexpr int64_t kSettled = 100'000'000;
  thread_local int64_t offset = 0;
  thread_local int64_t measured = -kSettled;
  const auto steady = now_ns();
  if (steady - measured >= kSettled) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    offset = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - now_ns();
    measured = steady;
  }
  return offset;
}

int this_thread() {
  thread_local const int number = static_cast<int>(syscall(SYS_gettid));
  return number;
}

void add_of(ProfiledRecord record, uint64_t op, uint64_t annotation) {
  const auto offset = unix_offset_ns();
  record.start_ns += offset;
  record.end_ns += offset;
  record.op = op;
  record.annotation = annotation;
  const std::lock_guard<std::mutex> lock(g_trace_mutex);
  if (is_tracing()) {
    trace_records().push_back(std::move(record));
  }
}

void add(ProfiledRecord record) {
  add_of(std::move(record), innermost(Running::Operators), innermost(Running::Annotations));
}

const char* short_name(const char* name) {
  constexpr std::string_view aten = "aten::";
  return std::string_view(name).substr(0, aten.size()) == aten ? name + aten.size() : name;
}

const char* name_of(Place place) {
  return place == Place::Device ? "Device" : place == Place::Pinned ? "Pinned" : "Pageable";
}

// As the vendor's Kineto names them: for torch_musa 2.7.1 as CUDA's, and with a number since its release for 2.9.1.
std::string copy_name(const CopyPlaces& places) {
  const auto letter = [](Place place) { return place == Place::Device ? "D" : "H"; };
  return c10::str(
      since(Release::v2_9_1) ? "Memcpy1 " : "Memcpy ", letter(places.from), "to", letter(places.to), " (", name_of(places.from),
      " -> ", name_of(places.to), ")");
}

void watch_launch(const musart::LaunchedKernel& kernel, const std::function<void()>& run) {
  const TracedWork traced(kernel);
  run();
}

} // namespace

void start_trace() {
  musart::finish_launches();
  std::lock_guard<std::mutex> lock(g_trace_mutex);
  trace_records().clear();
  ++g_trace_number;
  g_tracing = true;
  musart::launch_watcher = &watch_launch;
}

std::vector<ProfiledRecord> stop_trace() {
  musart::finish_launches();
  std::lock_guard<std::mutex> lock(g_trace_mutex);
  g_tracing = false;
  musart::launch_watcher = nullptr;
  return std::exchange(trace_records(), {});
}

void push_running(Running kind, uint64_t id) {
  running(kind).push_back(id);
}

void pop_running(Running kind) {
  auto& ids = running(kind);
  if (!ids.empty()) {
    ids.pop_back();
  }
}

void trace_work(Traced kind, std::string name, c10::Stream stream, int64_t start_ns, int64_t end_ns, uint32_t correlation) {
  ProfiledRecord record{kind, std::move(name), start_ns, end_ns, correlation};
  record.device = stream.device_index();
  record.stream = stream.id();
  add(std::move(record));
}

void TracedCall::begin(const char* name) {
  name_ = name;
  correlation_ = next_correlation();
  start_ns_ = now_ns();
}

void TracedCall::end() {
  ProfiledRecord record{Traced::Call, name_, start_ns_, now_ns(), correlation_};
  record.thread = this_thread();
  add(std::move(record));
}

uint32_t trace_launch(const char* name) {
  return TracedCall(name).correlation();
}

Launched launched_elsewhere(const char* call) {
  const auto correlation = t_started_by != 0 ? t_started_by : trace_launch(call);
  return {correlation, innermost(Running::Operators), innermost(Running::Annotations)};
}

void trace_elsewhere(const std::string& kernel, c10::Stream stream, int64_t start_ns, int64_t end_ns, const Launched& launch) {
  ProfiledRecord record{Traced::Kernel, kernel, start_ns, end_ns, launch.correlation};
  record.device = stream.device_index();
  record.stream = stream.id();
  add_of(std::move(record), launch.op, launch.annotation);
}

StartedBy::StartedBy(uint32_t call) : before_(t_started_by) {
  t_started_by = call;
  push_running(Running::Operators, 0);
}

StartedBy::~StartedBy() {
  pop_running(Running::Operators);
  t_started_by = before_;
}

uint32_t started_by() {
  return t_started_by;
}

void TracedWork::begin(const char* op, c10::DeviceIndex device) {
  name_ = std::string("musasim::") + short_name(op);
  device_ = device;
  start("musaLaunchKernel");
}

void TracedWork::begin(const CopyPlaces& places, c10::DeviceIndex device) {
  kind_ = Traced::Copy;
  name_ = copy_name(places);
  bytes_ = places.bytes;
  device_ = device;
  start("musaMemcpyAsync");
}

TracedWork::TracedWork(const musart::LaunchedKernel& kernel)
    : name_(kernel.name), device_(static_cast<c10::DeviceIndex>(kernel.device)), launch_(&kernel) {
  start("musaLaunchKernel");
}

// A kernel runs on the thread that launches it. On a device the launch would return before, so in the trace it does.
void TracedWork::start(const char* call) {
  const auto correlation = t_started_by != 0 ? t_started_by : trace_launch(call);
  if (active_capture() == nullptr) {
    correlation_ = correlation;
    start_ns_ = now_ns();
  }
}

void TracedWork::end() {
  const auto end_ns = now_ns();
  const bool is_given = launch_ != nullptr && launch_->stream != nullptr;
  const auto stream = is_given ? stream_of(*launch_->stream) : current_stream(device_);
  // A device would start this after the earlier work of the stream.
  const auto delay = std::max<int64_t>(stream_state(stream).busy_until.load() - start_ns_, 0);
  ProfiledRecord record{kind_, std::move(name_), start_ns_ + delay, end_ns + delay, correlation_};
  record.device = stream.device_index();
  record.stream = stream.id();
  record.bytes = bytes_;
  if (launch_ != nullptr && launch_->grid != musart::kNoExtent) {
    record.launch = *launch_;
  }
  add(std::move(record));
}

} // namespace musasim
