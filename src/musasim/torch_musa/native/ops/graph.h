#pragma once

#include "../runtime/allocator.h"
#include "../runtime/capture.h"

#include <musa_runtime_api.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace musasim {

CaptureMode capture_mode(const std::string& name);

// Operations run while they are captured, because only that shows the shapes of their results. Memory from outside the
// capture that they overwrite is restored when it ends. After that a graph behaves as on a device: it has a graph of the driver and
// an executable of that, whose number in a process is limited. The first four members are those of torch_musa's MUSAGraph.
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

 protected:
  musaGraph_t graph_ = nullptr;
  musaGraphExec_t graph_exec_ = nullptr;
  bool has_graph_ = false;
  bool has_graph_exec_ = false;

 private:
  struct Kept {
    c10::Storage storage;
    std::vector<char> bytes;
  };

  void register_generator();
  void require_places();
  void put_back();
  void instantiate();
  void destroy_executable();
  void destroy_graph();
  [[noreturn]] void fail(const char* what);

  std::unique_ptr<Capture> capture_;
  std::vector<Kept> kept_;
  std::set<const void*> places_; // the driver's allocations that its work reads or writes
  uint64_t checked_at_ = 0; // how many the driver had taken back when they were last known to exist
  uint64_t seed_offset_ = 0;
  c10::DeviceIndex device_ = -1;
  c10::DeviceIndex registered_ = -1; // the device whose generator this graph has registered
  PoolId pool_{0, 0};
  bool has_pool_ = false;
};

} // namespace musasim
