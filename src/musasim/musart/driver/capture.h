// What streams record while they are captured.
#pragma once

#include "stream.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace musart {

// The work of a capture that precedes something: for each stream, the number of the capture's operations.
using Progress = std::map<const Stream*, size_t>;

enum class CaptureMode { Global, ThreadLocal, Relaxed };

struct KernelNode; // opaque here

// What one capture has recorded. `nodes` redo the work, in order, on the memory that the capture saw.
struct Capture {
  struct Node {
    std::string name;
    std::function<void()> run;
    std::shared_ptr<KernelNode> kernel; // what `run` launches, where that is a kernel whose parameters are known
    bool at_once = false; // it waits for another thread of the program, or reads what the host may change, such as a generator
  };

  CaptureMode mode;
  bool invalidated = false;
  std::vector<Node> nodes;
  std::vector<Stream*> joined; // streams that an event of this capture was waited on
  std::map<const Stream*, Progress> reached; // by stream, the work of every stream that its own next work follows

  explicit Capture(CaptureMode mode_) : mode(mode_) {}

  void add(Node node, const Stream& stream);
  void add(std::string name, std::function<void()> run, const Stream& stream) {
    add({std::move(name), std::move(run)}, stream);
  }
  bool has_unjoined_work(const Stream& origin) const;
};

extern std::atomic<int> running_captures; // usually 0, and then no other check is needed

bool begin_capture(Capture& capture, Stream& origin); // false if the stream is being captured already
void finish_capture(Capture& capture, Stream& origin);
bool is_running(const Capture* capture);
// The stream waits for this progress of a capture, and so takes part in it; nothing happens if the capture is over.
void join_capture(Capture* capture, const Progress& progress, Stream& stream);

// The capture that forbids an unsafe call: in "global" mode from any thread, in "thread_local" mode from its own thread.
Capture* forbidding_capture();

} // namespace musart
#pragma GCC visibility pop
