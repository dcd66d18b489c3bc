// Launches of graphs. A device may run graphs at the same time on streams that nothing orders. So a launch on another stream than the
// default one waits here until something could see what it does: any other work, a transfer, a synchronization, an event or a query
// of its stream. Launches that wait together then run in turns, an operation of each. A stream has at most one that waits, and so has
// an executable, because a device runs neither beside itself.
//
// What an operation throws is kept, and PyTorch's side raises it from the call that made the launch run, as a device reports an error
// at a later call. MUSA_LAUNCH_BLOCKING=1 lets nothing wait.
#pragma once

#include "capture.h"
#include "postponed.h"

#include <exception>

#pragma GCC visibility push(default)
namespace musart {

using Around = std::function<void(const std::function<void()>&)>;

// What PyTorch's side adds. Without it a program has no state of that kind.
struct LaunchHooks {
  Around (*as_launched)(const Stream& stream) = nullptr; // lets work run as the launching thread would run it now
};
extern LaunchHooks launch_hooks;

// May raise what an operation throws, if the launch does not wait and nothing waits.
void launch_graph(const void* executable, std::shared_ptr<const std::vector<Capture::Node>> nodes, Stream& stream);

Stream* replaying_stream(); // of the launch whose operations this thread runs, if they are to run at once; nullptr for none
Stream& launching_stream(); // the same, or the default one

extern std::atomic<int> unfinished_launches; // those that wait or run; one more while an error has not been taken. Usually 0
void run_launches() noexcept;
std::exception_ptr take_launch_error() noexcept;
bool has_launch(const Stream& stream); // whether an event or a query of this stream depends on a launch that waits

inline void finish_graphs() noexcept {
  if (__builtin_expect(unfinished_launches.load(std::memory_order_relaxed) != 0, 0)) {
    run_launches();
  }
}

inline void finish_launches() noexcept { // and what else waits in streams
  postponed::finish();
  finish_graphs();
}

} // namespace musart
#pragma GCC visibility pop
