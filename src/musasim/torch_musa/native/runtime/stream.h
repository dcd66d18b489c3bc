#pragma once

#include "device.h"

#include <c10/core/Stream.h>

#include <cstdint>
#include <exception>

namespace musasim {

// A clock of the driver's; see musart/driver.h.
using StreamState = musart::Stream;
using EventState = musart::Event;

constexpr int kStreamsPerPool = 32;
using musart::kHighestPriority;
using musart::now_ns;
using musart::time_of;

c10::Stream make_stream(c10::DeviceIndex device, c10::StreamId id);
c10::Stream default_stream(c10::DeviceIndex device);
c10::Stream current_stream(c10::DeviceIndex device);
void set_current_stream(c10::Stream stream) noexcept;
c10::Stream pool_stream(c10::DeviceIndex device, int priority);

// The native handle is 0 for the default stream and the address of the state for every other one.
void* stream_handle(c10::Stream stream);
c10::Stream external_stream(c10::DeviceIndex device, void* handle);

StreamState& stream_state(c10::Stream stream);
int stream_priority(c10::Stream stream);

int64_t completion_ns(c10::Stream stream);
void keep_busy(c10::Stream stream, int64_t nanoseconds);
void wait_for(c10::Stream stream, int64_t when_ns);
bool is_idle(c10::Stream stream);
void synchronize_stream(c10::Stream stream);
void synchronize_device(c10::DeviceIndex device);
// For work that is done elsewhere (musart/driver/elsewhere.h): this thread's wait for the device, or its next one, raises it.
void raise_after_wait(std::exception_ptr error);

using musart::wait_until;

// What a wait of the host for the device leads to, by set_sync_debug_mode: nothing, a warning, or an error.
enum class SyncDebug { Off, Warn, Error };
SyncDebug& sync_debug_mode();
void report_wait();

// Host code that must see device results (item, copy to host) waits without the checks of an explicit synchronize.
void wait_for_results(c10::Stream stream);

void record_event(EventState& event, c10::Stream stream);
void block_on_event(const EventState& event, c10::Stream stream);
bool is_complete(const EventState& event);
void synchronize_event(const EventState& event);
double elapsed_ms(const EventState& begin, const EventState& end);

} // namespace musasim
