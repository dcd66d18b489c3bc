#pragma once

#include "musart/driver/graph_launches.h"

#include <c10/core/Stream.h>
#include <c10/macros/Macros.h>

namespace musasim {

// These let the graphs that wait (musart/driver/graph_launches.h) run, and raise what an operation of one has raised.
void run_launches();
void run_launches_before(c10::Stream stream);

c10::Stream stream_of(const musart::Stream& state);

inline bool has_launches() {
  return C10_UNLIKELY(musart::unfinished_launches.load(std::memory_order_relaxed) != 0);
}

// Before work that could see what they do. Without one it costs one load.
inline void finish_graphs() {
  if (has_launches()) {
    run_launches();
  }
}

inline void finish_launches() { // and what else waits in streams
  musart::postponed::finish();
  finish_graphs();
}

// Before an event is recorded on the stream, or it is asked or waited for.
inline void finish_launches_of(c10::Stream stream) {
  if (has_launches()) {
    run_launches_before(stream);
  }
}

void register_launches();

} // namespace musasim
