// MUSASIM_STREAMCHECK=1: finds work of two streams that touches the same memory, one writing, with nothing that orders them, and the host
// that touches pinned memory while a copy is busy with it. It knows what the simulated device does: operators, copies, fills, and
// each access of kernels that mcc has compiled for a checker.
#pragma once

#include "event.h"
#include "happens_before.h"
#include "pinned_guard.h"
#include "stream.h"

#include <initializer_list>
#include <vector>

#pragma GCC visibility push(default)
namespace musart::streamcheck {

enum class Kind { Read, Write, Atomic };

struct Access {
  const void* begin;
  size_t bytes;
  Kind kind;
  bool pinned = false; // memory of the host, which has to wait before it touches it
  const void* caller = nullptr; // a kernel's place; without one, it is where the program is
};

// Work that the stream has just been given, and that the simulator has done.
void did(Stream& stream, const char* name, const std::vector<Access>& accesses);

// The host has waited for the stream, the event, or all of the device.
void host_waited_for(Stream& stream);
void host_waited_for(const Event& event);
void host_waited_for_device(int device);
void host_knows(const Known& known);

// What one stream does next comes after what the other has done so far.
void stream_follows(Stream& stream, Stream& other);

// The memory is another piece of memory from now on, and all work on the old one is over, or only that of a stream.
void forget(const void* begin, size_t bytes);
void forget_work_of(const Stream& stream, const void* begin, size_t bytes);
// It is the memory of another tensor from now on, and nobody has waited for anything.
void is_used_again(const void* begin, size_t bytes);

} // namespace musart::streamcheck
#pragma GCC visibility pop
