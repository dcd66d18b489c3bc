#include "flight_recorder.h"

#include "../runtime/version.h"
#include "settings.h"

#include <torch/csrc/distributed/c10d/Utils.hpp>
#include <torch/csrc/profiler/combined_traceback.h>

#if MUSASIM_TORCH_AT_LEAST(2, 9)
// Before, the header of PyTorch's writer was NCCL's.
#include <torch/csrc/distributed/c10d/FlightRecorder.hpp>
#define MUSASIM_HAS_WRITER
#endif

namespace musasim::mccl {

int64_t unix_time_ns() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

Flight::Shapes shapes_of(const std::vector<at::Tensor>& tensors) {
  Flight::Shapes shapes;
  for (const auto& tensor : tensors) {
    shapes.emplace_back(tensor.sizes().vec(), tensor.scalar_type());
  }
  return shapes;
}

FlightRecorder& FlightRecorder::get() {
  static auto* recorder = new FlightRecorder(); // frames of Python must not be released when Python has ended
  return *recorder;
}

// torch's recorder reads these, and torch_musa uses it.
FlightRecorder::FlightRecorder()
    : limit_(static_cast<size_t>(
          std::max(0, c10d::getCvarInt({"TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"}, 2000)))) {}

std::shared_ptr<FlightTimes> FlightRecorder::record(Flight flight) {
  if (!Settings::since_2_9_1 || limit_ == 0) {
    return nullptr;
  }
  flight.created = unix_time_ns();
  flight.frames = torch::CapturedTraceback::gather(/*python=*/true, /*script=*/true, /*cpp=*/false);
  Flight oldest; // whose frames are released without the lock, because that takes the GIL
  const std::lock_guard<std::mutex> lock(mutex_);
  flight.id = last_++;
  flights_.push_back(std::move(flight));
  if (flights_.size() > limit_) {
    oldest = std::move(flights_.front());
    flights_.pop_front();
  }
  return flights_.back().times;
}

std::vector<Flight> FlightRecorder::flights() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {flights_.begin(), flights_.end()};
}

void FlightRecorder::reset() {
  std::deque<Flight> old;
  const std::lock_guard<std::mutex> lock(mutex_);
  old.swap(flights_);
  last_ = 0;
}

void write_flights([[maybe_unused]] int rank) {
#ifdef MUSASIM_HAS_WRITER
  c10d::DebugInfoWriter::getWriter(rank).write(pickled_flights());
#endif
}

} // namespace musasim::mccl
