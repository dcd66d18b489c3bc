#include "transfer.h"

#include "../driver/capture.h"
#include "../driver/device.h"
#include "../driver/host_memory.h"
#include "../driver/memory.h"
#include "../driver/postponed.h"
#include "../driver/protected_memory.h"
#include "../driver/symbol.h"
#include "gate.h"
#include "stream.h"

#include <cstring>
#include <utility>

namespace musart {
namespace {

enum class Place { Device, Host, TooShort };

// The driver knows device memory to the byte. It takes any other address for the host's, as with unified addresses.
Place place_of(const void* pointer, size_t count, int device = -1) {
  const auto found = find_allocation(pointer);
  if (!found) {
    const size_t room = room_in_symbol(pointer);
    return room == 0 ? Place::Host : count <= room ? Place::Device : Place::TooShort;
  }
  const auto offset = static_cast<size_t>(static_cast<const char*>(pointer) - found->base);
  const bool fits = count <= found->size - offset && (device < 0 || device == found->device);
  return fits ? Place::Device : Place::TooShort;
}

Rows one_row(const void* begin, size_t count) {
  return {begin, count, count, 1};
}

// Between two places on devices, the host does not wait for the end.
musaError_t copy_now(void* to, const void* from, size_t count) {
  wait_until(last_completion(current_device(), true));
  auto& stream = default_stream(current_device());
  const auto work = [=] { std::memmove(to, from, count); };
  const auto error = run_on(&stream, "musaMemcpy", accesses_of_copy(one_row(to, count), one_row(from, count)), work);
  if (place_of(to, 1) == Place::Host || place_of(from, 1) == Place::Host) {
    streamcheck::host_waited_for(stream);
  }
  return error;
}

musaError_t check_peers(const void* to, int to_device, const void* from, int from_device, size_t count) {
  if (!is_device(to_device) || !is_device(from_device)) {
    return musaErrorInvalidDevice;
  }
  const bool there = place_of(to, count, to_device) == Place::Device && place_of(from, count, from_device) == Place::Device;
  return there ? musaSuccess : musaErrorInvalidValue;
}

} // namespace

musaError_t check_copy(const void* to, const void* from, size_t count, musaMemcpyKind kind) {
  const auto number = static_cast<int>(kind);
  if (number < musaMemcpyHostToHost || number > musaMemcpyDefault) {
    return musaErrorInvalidMemcpyDirection;
  }
  const auto destination = place_of(to, count);
  const auto source = place_of(from, count);
  const bool to_device = kind == musaMemcpyHostToDevice || kind == musaMemcpyDeviceToDevice;
  const bool from_device = kind == musaMemcpyDeviceToHost || kind == musaMemcpyDeviceToDevice;
  const bool either = is_managed(to) || is_managed(from);
  const bool as_said = kind == musaMemcpyDefault || either ||
      (to_device == (destination == Place::Device) && from_device == (source == Place::Device));
  const bool whole = destination != Place::TooShort && source != Place::TooShort;
  return to != nullptr && from != nullptr && whole && as_said ? musaSuccess : musaErrorInvalidValue;
}

musaError_t run_on(Stream* stream, const char* name, const Accesses& accesses, std::function<void()> work) {
  if (stream == nullptr) {
    return musaErrorInvalidResourceHandle;
  }
  auto as_device = [work = std::move(work)] {
    const streamcheck::AsDevice device;
    const DeviceWork open;
    work();
  };
  if (auto* capture = stream->capture.load()) {
    capture->add(name, std::move(as_device), *stream);
  } else {
    postponed::finish_before(*stream);
    as_device();
    streamcheck::did(*stream, name, accesses);
  }
  return musaSuccess;
}

namespace {

// The host may do with other memory of its own what it likes when the call returns.
bool is_pageable(const void* pointer) {
  return place_of(pointer, 1) == Place::Host && !is_pinned(pointer);
}

musaError_t queue_on(Stream* stream, const char* name, const Accesses& accesses, bool may_wait, std::function<void()> work) {
  const bool waits = may_wait && postponed::wanted() && stream != nullptr && running_captures.load(std::memory_order_relaxed) == 0;
  if (!waits) {
    return run_on(stream, name, accesses, std::move(work));
  }
  postponed::add(*stream, [work = std::move(work)] {
    const DeviceWork open;
    work();
  });
  return musaSuccess;
}

void add_rows(const Rows& rows, streamcheck::Kind kind, Accesses& accesses) {
  const auto place = place_of(rows.begin, 1);
  const bool pinned = place == Place::Host && owns_pinned(rows.begin);
  if (place == Place::Host && !pinned) {
    return;
  }
  for (size_t row = 0; row < rows.height; ++row) {
    accesses.push_back({static_cast<const char*>(rows.begin) + row * rows.pitch, rows.width, kind, pinned});
  }
}

} // namespace

Accesses accesses_of_copy(const Rows& to, const Rows& from) {
  Accesses accesses;
  if (streamcheck::enabled()) {
    add_rows(from, streamcheck::Kind::Read, accesses);
    add_rows(to, streamcheck::Kind::Write, accesses);
  }
  return accesses;
}

Accesses accesses_of_fill(const Rows& to) {
  Accesses accesses;
  if (streamcheck::enabled()) {
    add_rows(to, streamcheck::Kind::Write, accesses);
  }
  return accesses;
}

void wait_if_unpinned(Stream* stream, const void* to) {
  const bool waits = streamcheck::is_order_kept() && stream != nullptr && stream->capture.load() == nullptr;
  if (waits && place_of(to, 1) == Place::Host && !is_pinned(to)) {
    streamcheck::host_waited_for(*stream);
  }
}

} // namespace musart

using namespace musart;

musaError_t musaMemset(void* pointer, int value, size_t count) {
  if (const auto error = enter_unsafe_to_queue()) {
    return remember(error);
  }
  return musaMemsetAsync(pointer, value, count, nullptr);
}

musaError_t musaMemsetAsync(void* pointer, int value, size_t count, musaStream_t stream) {
  if (const auto error = enter_to_queue()) {
    return remember(error);
  }
  if (count == 0) {
    return musaSuccess;
  }
  if (place_of(pointer, count) != Place::Device && !is_pinned(pointer)) {
    return remember(musaErrorInvalidValue);
  }
  return remember(queue_on(stream_of(stream), "musaMemset", accesses_of_fill(one_row(pointer, count)), true, [=] { std::memset(pointer, value, count); }));
}

musaError_t musaMemcpy(void* to, const void* from, size_t count, musaMemcpyKind kind) {
  if (const auto error = enter_unsafe_to_queue()) {
    return remember(error);
  }
  if (count == 0) {
    return musaSuccess;
  }
  const auto error = check_copy(to, from, count, kind);
  return remember(error != musaSuccess ? error : copy_now(to, from, count));
}

musaError_t musaMemcpyAsync(void* to, const void* from, size_t count, musaMemcpyKind kind, musaStream_t stream) {
  if (const auto error = enter_to_queue()) {
    return remember(error);
  }
  if (count == 0) {
    return musaSuccess;
  }
  if (const auto error = check_copy(to, from, count, kind)) {
    return remember(error);
  }
  const auto accesses = accesses_of_copy(one_row(to, count), one_row(from, count));
  const bool may_wait = !is_pageable(to) && !is_pageable(from);
  const auto done = queue_on(stream_of(stream), "musaMemcpy", accesses, may_wait, [=] { std::memmove(to, from, count); });
  wait_if_unpinned(stream_of(stream), to);
  return remember(done);
}

musaError_t musaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t count) {
  if (const auto error = enter_unsafe_to_queue()) {
    return remember(error);
  }
  if (const auto error = check_peers(to, to_device, from, from_device, count)) {
    return remember(error);
  }
  return copy_now(to, from, count);
}

musaError_t
musaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t count, musaStream_t stream) {
  if (const auto error = enter_to_queue()) {
    return remember(error);
  }
  if (const auto error = check_peers(to, to_device, from, from_device, count)) {
    return remember(error);
  }
  const auto accesses = accesses_of_copy(one_row(to, count), one_row(from, count));
  return remember(queue_on(stream_of(stream), "musaMemcpyPeer", accesses, true, [=] { std::memmove(to, from, count); }));
}
