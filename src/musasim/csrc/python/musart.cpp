#include "parts.h"

#include "../runtime/allocator.h"
#include "../runtime/host_allocator.h"
#include "../runtime/stream.h"

#include <pybind11/stl.h>

#include <string>

namespace musasim {
namespace py = pybind11;
namespace {

// Python sees only `success`, as in torch_musa; the other codes reach check_error as plain numbers.
enum class MusaError { success = 0, invalid_value = 1 };

MusaError error_unless(bool done) {
  return done ? MusaError::success : MusaError::invalid_value;
}

std::string error_string(int code) {
  return code == 0 ? "no error" : code == 1 ? "invalid argument" : "unrecognized error code";
}

MusaError make_stream_at(uintptr_t address) {
  *reinterpret_cast<void**>(address) = create_external_stream();
  return MusaError::success;
}

} // namespace

void add_musart(py::module_& module) {
  auto musart = module.def_submodule("_musart", "MUSA runtime");
  py::enum_<MusaError>(musart, "musaError").value("success", MusaError::success);
  musart.def("musaGetErrorString", &error_string);
  musart.def("musaGetErrorString", [](MusaError error) { return error_string(static_cast<int>(error)); });
  musart.def("musaHostRegister", [](uintptr_t ptr, size_t bytes, unsigned) {
    return error_unless(register_host_range(reinterpret_cast<void*>(ptr), bytes));
  });
  musart.def("musaHostUnregister", [](uintptr_t ptr) {
    return error_unless(unregister_host_range(reinterpret_cast<void*>(ptr)));
  });
  musart.def("musaStreamCreate", &make_stream_at);
  // The clock stays: a handle that is used after its destruction must not take the process down.
  musart.def("musaStreamDestroy", [](uintptr_t) { return MusaError::success; });
  musart.def("musaMemGetInfo", [](int device) { return memory_info(static_cast<c10::DeviceIndex>(device)); });
}

} // namespace musasim
