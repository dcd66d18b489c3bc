#include "graph_launches.h"

#include "../ground/environment.h"
#include "../ground/on_device.h"
#include "../ground/without_locks.h"
#include "device.h"

#include <algorithm>
#include <mutex>

namespace musart {

LaunchHooks launch_hooks;
std::atomic<int> unfinished_launches{0};

namespace {

using Nodes = std::vector<Capture::Node>;

struct GraphLaunch {
  const void* executable;
  std::shared_ptr<const Nodes> nodes;
  Stream* stream;
  Around as_launched; // may be empty
  size_t next = 0;

  bool is_done() const {
    return next >= nodes->size();
  }
};

struct Launches {
  std::mutex mutex; // held while they run too, so that every other thread's work comes after them
  std::vector<GraphLaunch> waiting;
  std::exception_ptr error; // the first one

  void count() {
    unfinished_launches = static_cast<int>(waiting.size()) + (error ? 1 : 0);
  }
};

Launches& launches() {
  static auto* all = new Launches();
  return *all;
}

thread_local bool t_runs_launches = false; // what their operations do themselves depends on none of them
thread_local Stream* t_launching = nullptr;

void with_launches(const std::function<void(Launches&)>& work) {
  const auto locked = [&] {
    auto& all = launches();
    const std::lock_guard<std::mutex> lock(all.mutex);
    work(all);
  };
  without_locks(locked);
}

void run_operations(GraphLaunch& launch, size_t end) {
  const auto work = [&] {
    while (launch.next < end) {
      (*launch.nodes)[launch.next++].run();
    }
  };
  launch.as_launched ? launch.as_launched(work) : work();
}

// An operation of the launch, or all that are left if it is the only one. One that throws ends its launch.
void advance(GraphLaunch& launch, bool is_only, std::exception_ptr& error) {
  const size_t all = launch.nodes->size();
  try {
    run_operations(launch, is_only ? all : std::min(launch.next + 1, all));
  } catch (...) {
    launch.next = all;
    error = error ? error : std::current_exception();
  }
}

void run_in_turns(Launches& all) {
  t_runs_launches = true;
  auto& left = all.waiting;
  while (!left.empty()) {
    const bool is_only = left.size() == 1;
    for (auto& launch : left) {
      advance(launch, is_only, all.error);
    }
    left.erase(std::remove_if(left.begin(), left.end(), [](const GraphLaunch& each) { return each.is_done(); }), left.end());
  }
  t_runs_launches = false;
  all.count();
}

bool is_default(const Stream& stream) {
  return &stream == &default_stream(stream.device);
}

bool is_blocking() {
  static const bool wanted = read_flag("MUSA_LAUNCH_BLOCKING");
  return wanted;
}

// While something is captured, the stream of the work that makes them run could take part.
bool may_take_turns(const Nodes& nodes) {
  const bool free = std::none_of(nodes.begin(), nodes.end(), [](const Capture::Node& node) { return node.at_once; });
  return free && running_captures.load(std::memory_order_relaxed) == 0;
}

struct Launching {
  Stream* before = t_launching;
  explicit Launching(Stream& stream) {
    t_launching = &stream;
  }
  ~Launching() {
    t_launching = before;
  }
};

void run_at_once(const Nodes& nodes, Stream& stream) {
  finish_launches();
  const Launching launching(stream);
  for (const auto& node : nodes) {
    node.run();
  }
}

} // namespace

void launch_graph(const void* executable, std::shared_ptr<const Nodes> nodes, Stream& stream) {
  postponed::finish();
  const bool waits = !is_default(stream) && !is_blocking();
  const bool is_alone = !waits && unfinished_launches.load(std::memory_order_relaxed) == 0;
  if (is_alone || t_runs_launches || !may_take_turns(*nodes)) {
    run_at_once(*nodes, stream);
    return;
  }
  const auto as_launched = launch_hooks.as_launched;
  GraphLaunch launch{executable, std::move(nodes), &stream, as_launched == nullptr ? Around() : as_launched(stream)};
  with_launches([&](Launches& all) {
    const bool again = std::any_of(all.waiting.begin(), all.waiting.end(), [&](const GraphLaunch& each) {
      return each.stream == &stream || each.executable == executable;
    });
    if (again) {
      run_in_turns(all);
    }
    all.waiting.push_back(std::move(launch));
    all.count();
    if (!waits) {
      run_in_turns(all);
    }
  });
}

Stream* replaying_stream() {
  return t_launching;
}

Stream& launching_stream() {
  return t_launching == nullptr ? default_stream(current_device()) : *t_launching;
}

void run_launches() noexcept {
  if (!t_runs_launches && !postponed::runs_here() && !in_bad_fork() && !on_device()) {
    with_launches(&run_in_turns);
  }
}

// Work that waits in streams runs under a lock of its own, for which the operations of a launch may wait.
std::exception_ptr take_launch_error() noexcept {
  std::exception_ptr error;
  if (!t_runs_launches && !postponed::runs_here()) {
    with_launches([&](Launches& all) {
      std::swap(error, all.error);
      all.count();
    });
  }
  return error;
}

bool has_launch(const Stream& stream) {
  bool found = false;
  if (!t_runs_launches && !postponed::runs_here()) {
    with_launches([&](Launches& all) {
      found = std::any_of(all.waiting.begin(), all.waiting.end(), [&](const GraphLaunch& each) {
        return each.stream == &stream || (each.stream->blocking && is_default(stream));
      });
    });
  }
  return found;
}

} // namespace musart
