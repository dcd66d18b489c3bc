// Whether the calling thread of the host executes a kernel.
#pragma once

namespace musart {

inline thread_local bool t_on_device = false; // set by the engine, while a launch runs

inline bool on_device() noexcept {
  return t_on_device;
}

} // namespace musart
