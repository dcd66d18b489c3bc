#pragma once

#include "device.h"

#include <c10/core/impl/GPUTrace.h>
#include <c10/core/impl/PyInterpreter.h>

namespace musasim {

// Tells the callbacks of `torch.musa._gpu_trace`, if a program has switched them on, what happened to an event, a stream or
// memory. They run Python code, so no lock may be held. Without them it costs one load.
template <typename Report>
void tell_gpu_trace(Report report) {
  if (const auto* interpreter = c10::impl::GPUTrace::get_trace(); C10_UNLIKELY(interpreter != nullptr)) {
    report(**interpreter);
  }
}

inline uintptr_t as_number(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

} // namespace musasim
