// Two-dimensional memory, copies and fills, whose rows have a pitch.
#include "../driver/device.h"
#include "../driver/memory.h"
#include "../driver/stream.h"
#include "gate.h"
#include "stream.h"
#include "transfer.h"

#include <cstring>

namespace musart {
namespace {

constexpr size_t kPitch = 512; // rows begin at multiples of this

// The bytes from the first row's begin to the last row's end.
size_t span_of(size_t pitch, size_t width, size_t height) {
  return height == 0 ? 0 : pitch * (height - 1) + width;
}

void copy_rows(char* to, size_t to_pitch, const char* from, size_t from_pitch, size_t width, size_t height) {
  for (size_t row = 0; row < height; ++row) {
    std::memmove(to + row * to_pitch, from + row * from_pitch, width);
  }
}

musaError_t check_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
    musaMemcpyKind kind) {
  if (width > to_pitch || width > from_pitch) {
    return musaErrorInvalidPitchValue;
  }
  // The longer span may exceed the other side's memory, so each side is checked separately.
  if (const auto error = check_copy(to, from, width, kind)) {
    return error;
  }
  const size_t to_span = span_of(to_pitch, width, height) - width;
  const size_t from_span = span_of(from_pitch, width, height) - width;
  return check_copy(static_cast<char*>(to) + to_span, static_cast<const char*>(from) + from_span, width, kind);
}

} // namespace
} // namespace musart

using namespace musart;

musaError_t musaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (pointer == nullptr || pitch == nullptr) {
    return remember(musaErrorInvalidValue);
  }
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  return musaMalloc(pointer, *pitch * height);
}

musaError_t musaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
    size_t height, musaMemcpyKind kind, musaStream_t stream) {
  if (const auto error = enter()) {
    return remember(error);
  }
  if (width == 0 || height == 0) {
    return musaSuccess;
  }
  if (const auto error = check_rows(to, to_pitch, from, from_pitch, width, height, kind)) {
    return remember(error);
  }
  const auto copy = [=] {
    copy_rows(static_cast<char*>(to), to_pitch, static_cast<const char*>(from), from_pitch, width, height);
  };
  const auto accesses = accesses_of_copy({to, to_pitch, width, height}, {from, from_pitch, width, height});
  const auto done = run_on(stream_of(stream), "musaMemcpy2D", accesses, copy);
  wait_if_unpinned(stream_of(stream), to);
  return remember(done);
}

musaError_t musaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
    musaMemcpyKind kind) {
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  wait_until(last_completion(current_device(), true));
  const auto error = musaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
  streamcheck::host_waited_for(default_stream(current_device()));
  return error;
}

musaError_t musaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height, musaStream_t stream) {
  if (const auto error = enter()) {
    return remember(error);
  }
  if (width == 0 || height == 0) {
    return musaSuccess;
  }
  const auto whole = find_allocation(pointer);
  if (width > pitch || !whole) {
    return remember(width > pitch ? musaErrorInvalidPitchValue : musaErrorInvalidValue);
  }
  auto* begin = static_cast<char*>(pointer);
  if (span_of(pitch, width, height) > whole->size - static_cast<size_t>(begin - whole->base)) {
    return remember(musaErrorInvalidValue);
  }
  const auto fill = [=] {
    for (size_t row = 0; row < height; ++row) {
      std::memset(begin + row * pitch, value, width);
    }
  };
  return remember(run_on(stream_of(stream), "musaMemset2D", accesses_of_fill({pointer, pitch, width, height}), fill));
}

musaError_t musaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  return musaMemset2DAsync(pointer, pitch, value, width, height, nullptr);
}
