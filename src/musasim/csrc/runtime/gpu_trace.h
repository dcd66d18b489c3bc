#pragma once

#include "device.h"

#include <torch/csrc/python_headers.h>

#include <c10/core/impl/GPUTrace.h>
#include <c10/core/impl/PyInterpreter.h>

namespace musasim {

// Whether torch_musa has the module `_gpu_trace` with the callbacks. torch.compile switches reports on, because it imports
// torch.cuda._sanitizer, and PyTorch logs an error for each report that finds no callbacks. An error that is on its way through
// Python stays what it is.
inline bool has_gpu_trace_callbacks() {
  if (!Py_IsInitialized()) {
    return false;
  }
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch_musa");
  const bool found = module != nullptr && PyObject_HasAttrString(module, "_gpu_trace") == 1;
  PyErr_Restore(type, value, traceback);
  PyGILState_Release(gil);
  return found;
}

// Tells the callbacks of `torch.musa._gpu_trace`, if a program has switched them on, what happened to an event, a stream or
// memory. They run Python code, so no lock may be held. Without them it costs one load.
template <typename Report>
void tell_gpu_trace(Report report) {
  const auto* interpreter = c10::impl::GPUTrace::get_trace();
  if (C10_UNLIKELY(interpreter != nullptr) && has_gpu_trace_callbacks()) {
    report(**interpreter);
  }
}

inline uintptr_t as_number(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

} // namespace musasim
