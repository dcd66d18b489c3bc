#include "parts.h"

#include "musart/include/musa_runtime_api.h"
#include "../runtime/device.h"

#include <c10/core/DeviceGuard.h>
#include <pybind11/stl.h>

#include <string>
#include <utility>

namespace musasim {
namespace py = pybind11;
namespace {

std::pair<size_t, size_t> memory_info_of(int device) {
  const c10::DeviceGuard guard(c10::Device(kMusa, static_cast<c10::DeviceIndex>(device)));
  size_t free = 0;
  size_t total = 0;
  if (const auto error = musaMemGetInfo(&free, &total)) {
    raise_musa_error(musaGetErrorString(error));
  }
  return {free, total};
}

} // namespace

// libmusart's functions, unchanged. In Python, codes other than success are numbers, because the enum has only this name.
void add_musart(py::module_& module) {
  auto musart = module.def_submodule("_musart", "libmusart.so bindings");
  py::enum_<musaError_t>(musart, "musaError").value("success", musaSuccess);
  musart.def("musaGetErrorString", &musaGetErrorString);
  musart.def("musaGetErrorString", [](int code) { return musaGetErrorString(static_cast<musaError_t>(code)); });
  musart.def("musaHostRegister", [](uintptr_t ptr, size_t bytes, unsigned flags) {
    return musaHostRegister(reinterpret_cast<void*>(ptr), bytes, flags);
  });
  musart.def("musaHostUnregister", [](uintptr_t ptr) { return musaHostUnregister(reinterpret_cast<void*>(ptr)); });
  musart.def("musaStreamCreate", [](uintptr_t ptr) { return musaStreamCreate(reinterpret_cast<musaStream_t*>(ptr)); });
  musart.def("musaStreamDestroy", [](uintptr_t ptr) { return musaStreamDestroy(reinterpret_cast<musaStream_t>(ptr)); });
  musart.def("musaMemGetInfo", &memory_info_of);
}

} // namespace musasim
