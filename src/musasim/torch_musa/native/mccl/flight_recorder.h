#pragma once

#include "../runtime/history.h"

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace musasim::mccl {

// When an operation began and ended, in nanoseconds since 1970; 0 is "not yet".
struct FlightTimes {
  std::atomic<int64_t> started{0};
  std::atomic<int64_t> completed{0};
};

// An operation of a group, as the flight recorder shows it.
struct Flight {
  using Shapes = std::vector<std::pair<std::vector<int64_t>, c10::ScalarType>>;

  uint64_t group = 0;
  std::pair<std::string, std::string> group_name; // and what the program says of it
  uint64_t collective = 0; // the number of the operation among its kind in the group
  uint64_t message = 0;
  uint64_t operation = 0;
  std::string title;
  bool is_message = false;
  std::chrono::milliseconds timeout{0};
  Shapes inputs;
  Shapes outputs;
  // What the recorder adds.
  uint64_t id = 0;
  int64_t created = 0;
  Context frames;
  std::shared_ptr<FlightTimes> times = std::make_shared<FlightTimes>();
};

int64_t unix_time_ns();
Flight::Shapes shapes_of(const std::vector<at::Tensor>& tensors);

// The newest operations of all groups of this process, as many as TORCH_FR_BUFFER_SIZE says. Releases before 2.9.1 record none.
class FlightRecorder {
 public:
  static FlightRecorder& get();

  std::shared_ptr<FlightTimes> record(Flight flight);
  std::vector<Flight> flights() const;
  void reset();

 private:
  FlightRecorder();

  const size_t limit_;
  mutable std::mutex mutex_;
  std::deque<Flight> flights_;
  uint64_t last_ = 0;
};

// The operations as flight_recorder.py gives them to programs, which sets this.
inline std::function<std::string()> pickled_flights;

// Leaves them where torch's own writer does: in the file that TORCH_FR_DUMP_TEMP_FILE names, with the rank behind the name.
void write_flights(int rank);

} // namespace musasim::mccl
