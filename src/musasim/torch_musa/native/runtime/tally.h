#pragma once

#include <c10/macros/Macros.h>

#include <atomic>

namespace musasim {

// What a process had the device do, counted by name where somebody asks for it (musasim/tally.py).
enum class Counted { Operator, Kernel };

extern std::atomic<bool> g_tallying;

void add_to_tally(Counted kind, const char* name);

// Without a tally it costs one load.
inline void count(Counted kind, const char* name) {
  if (C10_UNLIKELY(g_tallying.load(std::memory_order_relaxed))) {
    add_to_tally(kind, name);
  }
}

} // namespace musasim
