#include "launches.h"

#include "stream.h"
#include "trace.h"

#include <ATen/ThreadLocalState.h>
#include <c10/core/StreamGuard.h>

#include <memory>

namespace musasim {

c10::Stream stream_of(const musart::Stream& state) {
  const auto device = static_cast<c10::DeviceIndex>(state.device);
  if (&state == &musart::default_stream(device)) {
    return default_stream(device);
  }
  const auto current = current_stream(device);
  const bool is_current = &stream_state(current) == &state;
  return is_current ? current : external_stream(device, const_cast<musart::Stream*>(&state));
}

namespace {

musart::Around as_launched(const musart::Stream& on) {
  return [state = std::make_shared<const at::ThreadLocalState>(), stream = stream_of(on), call = started_by()](const auto& work) {
    const at::ThreadLocalStateGuard state_guard(*state);
    const c10::StreamGuard stream_guard(stream);
    const StartedBy started_by_launch(call); // and by no operator, least of all the one that makes it run
    work();
  };
}

} // namespace

void run_launches() {
  musart::run_launches();
  if (const auto error = musart::take_launch_error()) {
    std::rethrow_exception(error);
  }
}

void run_launches_before(c10::Stream stream) {
  if (musart::has_launch(stream_state(stream))) {
    run_launches();
  }
}

void register_launches() {
  musart::launch_hooks.as_launched = &as_launched;
}

} // namespace musasim
