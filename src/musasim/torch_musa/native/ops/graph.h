#pragma once

#include "../runtime/allocator.h"
#include "../runtime/capture.h"
#include "../runtime/release.h"

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
// an executable of that, whose number in a process is limited. The first members are those of torch_musa's MUSAGraph: two pointers, and
// flags, of which 2.9.1 has put one between the two that 2.7.1 has.
class MusaGraph {
 public:
  explicit MusaGraph(bool keep_graph = false) : keep_graph_(keep_graph) {}
  ~MusaGraph();
  MusaGraph(const MusaGraph&) = delete;
  MusaGraph& operator=(const MusaGraph&) = delete;

  void capture_begin(std::optional<PoolId> pool, CaptureMode mode);
  void capture_end();
  void instantiate(); // by the program
  void replay();
  void reinstantiate();
  uintptr_t raw_graph() const;
  uintptr_t raw_executable() const;
  void reset();
  PoolId pool() const;
  void enable_debug_mode(); // for all graphs, like the real one
  void debug_dump(const std::string& path);

 protected:
  musaGraph_t graph_ = nullptr;
  musaGraphExec_t graph_exec_ = nullptr;
  bool flags_[3] = {false, false, false};

  bool& has_graph() {
    return flags_[0];
  }
  bool& has_executable() {
    return flags_[since(Release::v2_9_1) ? 2 : 1];
  }
  bool is_captured() const { // 2.7.1 asks whether there is an executable
    return flags_[1];
  }

 private:
  struct Kept {
    c10::Storage storage;
    std::vector<char> bytes;
  };

  void register_generator();
  void require_places();
  void put_back();
  void make_executable();
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
  bool keep_graph_;
};

} // namespace musasim
