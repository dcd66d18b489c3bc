#pragma once

#include "stream.h"

#include <c10/core/Storage.h>

#include <functional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace musasim {

using musart::CaptureMode;

// The driver's record of a capture, and the state that PyTorch's side adds.
struct Capture : musart::Capture {
  c10::Stream origin;
  std::function<void(const c10::Storage&)> before_write; // saves what the capture is about to overwrite
  std::unordered_set<const void*> fresh; // memory that was allocated for the capture, so nothing in it has to be saved
  std::vector<std::pair<void*, std::vector<char>>> given_up; // what lay in memory of the pool that was freed meanwhile
  std::set<const void*> places; // the driver's allocations that its work reads or writes

  Capture(c10::Stream origin_, CaptureMode mode_) : musart::Capture(mode_), origin(origin_) {}

  // Adds work of the current stream.
  void add(std::string name, std::function<void()> run);
  void add_at_once(std::string name, std::function<void()> run); // a launch does not wait with it (musart's Node)
  bool has_unjoined_work() const;
  void save(const c10::Storage& storage);
  void note_place(const void* data);
  void keep_contents(void* address, size_t bytes);
};

void begin_capture(Capture& capture);
void finish_capture(Capture& capture);

// The capture that the calling thread's current stream takes part in, or nullptr. Cheap when nothing is captured.
Capture* active_capture();
bool is_capturing(c10::Stream stream);

// Each of these raises the driver's error and invalidates the capture if the operation is not permitted now.
void refuse_during_capture(c10::Stream stream);
void refuse_during_any_capture(c10::DeviceIndex device);
void refuse_event_of_capture(const EventState& event);

// The default stream may not wait for what a capture records.
void refuse_wait_of_default_stream(const EventState& event, c10::Stream stream);
void refuse_host_access();
void refuse_device_allocation(c10::DeviceIndex device);

// The generator's own error, which does not affect the capture.
void assert_not_capturing(const char* attempt);

} // namespace musasim
