#pragma once

#include "../runtime/allocator.h"
#include "../runtime/capture.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace musasim {

CaptureMode capture_mode(const std::string& name);

// An executable graph of the driver, which limits their number in a process (MUSASIM_GRAPH_EXECUTABLES).
class GraphExecutable {
 public:
  GraphExecutable();
  ~GraphExecutable();
  GraphExecutable(const GraphExecutable&) = delete;
  GraphExecutable& operator=(const GraphExecutable&) = delete;
};

// Operations run while they are captured, because only that shows the shapes of their results. Memory from outside the
// capture that they overwrite is restored when it ends. After that a graph behaves as on a device.
class MusaGraph {
 public:
  MusaGraph() = default;
  ~MusaGraph();
  MusaGraph(const MusaGraph&) = delete;
  MusaGraph& operator=(const MusaGraph&) = delete;

  void capture_begin(std::optional<PoolId> pool, CaptureMode mode);
  void capture_end();
  void replay();
  void reinstantiate();
  void reset();
  PoolId pool() const;
  void enable_debug_mode(); // for all graphs, like the real one
  void debug_dump(const std::string& path);

 private:
  struct Kept {
    c10::Storage storage;
    std::vector<char> bytes;
  };

  void put_back();
  [[noreturn]] void fail(const char* what);

  std::unique_ptr<Capture> capture_;
  std::vector<Kept> kept_;
  uint64_t seed_offset_ = 0;
  c10::DeviceIndex device_ = -1;
  PoolId pool_{0, 0};
  bool has_pool_ = false;
  bool ready_ = false;
  bool has_template_ = false;
  std::optional<GraphExecutable> executable_;
};

} // namespace musasim
