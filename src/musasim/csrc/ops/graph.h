#pragma once

#include "../runtime/allocator.h"
#include "../runtime/capture.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace musasim {

CaptureMode capture_mode(const std::string& name);

// Operations are executed while they are captured, because only that tells the shapes of their results; what they wrote
// to memory from outside the capture is put back when it ends. After that a graph behaves as on a device.
class MusaGraph {
 public:
  MusaGraph() = default;
  ~MusaGraph();
  MusaGraph(const MusaGraph&) = delete;
  MusaGraph& operator=(const MusaGraph&) = delete;

  void capture_begin(std::optional<PoolId> pool, CaptureMode mode);
  void capture_end();
  void replay();
  void reset();
  PoolId pool() const;
  void enable_debug_mode();
  void debug_dump(const std::string& path) const;

 private:
  struct Kept {
    c10::Storage storage;
    std::vector<char> bytes;
  };

  void put_back();

  std::unique_ptr<Capture> capture_;
  std::vector<Kept> kept_;
  uint64_t seed_offset_ = 0;
  c10::DeviceIndex device_ = -1;
  PoolId pool_{0, 0};
  bool has_pool_ = false;
  bool ready_ = false;
};

} // namespace musasim
