#include "parts.h"

#include "../runtime/capture.h"
#include "../runtime/device.h"
#include "../runtime/generator.h"
#include "../runtime/pluggable.h"
#include "../runtime/stream.h"
#include "../runtime/trace.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Generator.h>

#include <string>
#include <vector>

namespace musasim {
namespace py = pybind11;
namespace {

// Called whenever a Python program handles devices, so it avoids pybind11's slow argument parsing.
c10::DeviceIndex index_from(PyObject* value) {
  const auto index = PyLong_AsLong(value);
  if (index == -1 && PyErr_Occurred() != nullptr) {
    throw python_error();
  }
  TORCH_CHECK(index >= -128 && index <= 127, "MUSA error: invalid device ordinal (", index, ")");
  return static_cast<c10::DeviceIndex>(index);
}

PyObject* get_device(PyObject*, PyObject*) {
  return PyLong_FromLong(current_device());
}

PyObject* get_device_count(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  arm_fork_guard();
  return PyLong_FromLong(device_count());
  END_HANDLE_TH_ERRORS
}

PyObject* set_device_to(PyObject*, PyObject* value) {
  HANDLE_TH_ERRORS
  set_device(index_from(value));
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* exchange_device_to(PyObject*, PyObject* value) {
  HANDLE_TH_ERRORS
  return PyLong_FromLong(exchange_device(index_from(value)));
  END_HANDLE_TH_ERRORS
}

PyObject* maybe_exchange_device_to(PyObject*, PyObject* value) {
  HANDLE_TH_ERRORS
  const auto index = index_from(value);
  return PyLong_FromLong(index < 0 ? -1 : exchange_device(index));
  END_HANDLE_TH_ERRORS
}

PyObject* get_current_stream(PyObject*, PyObject* value) {
  HANDLE_TH_ERRORS
  const auto stream = current_stream(index_from(value));
  return Py_BuildValue(
      "(Lii)", static_cast<long long>(stream.id()), int{stream.device_index()}, static_cast<int>(stream.device_type()));
  END_HANDLE_TH_ERRORS
}

PyObject* get_current_raw_stream(PyObject*, PyObject* value) {
  HANDLE_TH_ERRORS
  return PyLong_FromVoidPtr(stream_handle(current_stream(index_from(value))));
  END_HANDLE_TH_ERRORS
}

PyMethodDef device_methods[] = {
    {"_musa_getDevice", get_device, METH_NOARGS, nullptr},
    {"_musa_getDeviceCount", get_device_count, METH_NOARGS, nullptr},
    {"_musa_setDevice", set_device_to, METH_O, nullptr},
    {"_musa_exchangeDevice", exchange_device_to, METH_O, nullptr},
    {"_musa_maybeExchangeDevice", maybe_exchange_device_to, METH_O, nullptr},
    {"_musa_getCurrentStream", get_current_stream, METH_O, nullptr},
    {"_musa_getCurrentRawStream", get_current_raw_stream, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

py::tuple default_generators() {
  py::list all;
  for (int i = 0; i < device_count(); ++i) {
    all.append(py::reinterpret_steal<py::object>(
        THPGenerator_Wrap(default_generator(static_cast<c10::DeviceIndex>(i)))));
  }
  return py::tuple(all);
}

// One object for each device, as with a driver, although all are equal.
const DeviceProperties& checked_properties(int index) {
  check_device(static_cast<c10::DeviceIndex>(index));
  static const std::vector<DeviceProperties> all(kMaxDevices, device_properties());
  return all.at(static_cast<size_t>(index));
}

// The attributes that torch_musa has only after initialisation.
void initialise() {
  refuse_after_fork();
  TORCH_CHECK(device_count() > 0, "No Moore Threads GPUs are available");
  arm_fork_guard();
  mark_allocator_used();
  const py::dict loaded = py::module_::import("sys").attr("modules");
  if (loaded.contains("torch_musa")) {
    py::object package = loaded["torch_musa"];
    package.attr("default_generators") = default_generators();
    package.attr("has_half") = true;
    package.attr("_get_device_properties") = py::cpp_function(&checked_properties, py::return_value_policy::reference);
  }
}

std::string describe(const DeviceProperties& p) {
  return "_MusaDeviceProperties(name='" + p.name + "', major=" + std::to_string(p.major) +
      ", minor=" + std::to_string(p.minor) + ", total_memory=" + std::to_string(p.total_memory / (1024 * 1024)) +
      "MB, multi_processor_count=" + std::to_string(p.multi_processor_count) + ")";
}

bool can_access_peer(int device, int peer) {
  check_device(static_cast<c10::DeviceIndex>(device));
  check_device(static_cast<c10::DeviceIndex>(peer));
  return device != peer;
}

void add_properties(py::module_& module) {
  py::class_<DeviceProperties>(module, "_MusaDeviceProperties")
      .def_readonly("name", &DeviceProperties::name)
      .def_readonly("major", &DeviceProperties::major)
      .def_readonly("minor", &DeviceProperties::minor)
      .def_readonly("is_multi_gpu_board", &DeviceProperties::is_multi_gpu_board)
      .def_readonly("is_integrated", &DeviceProperties::is_integrated)
      .def_readonly("multi_processor_count", &DeviceProperties::multi_processor_count)
      .def_readonly("total_memory", &DeviceProperties::total_memory)
      .def("__repr__", &describe);
}

void spin(int64_t cycles) {
  const auto stream = current_stream(-1);
  const auto start_ns = completion_ns(stream);
  keep_busy(stream, cycles);
  if (is_tracing() && active_capture() == nullptr) {
    trace_work(Work::Kernel, "musasim::spin", stream, start_ns, start_ns + cycles);
  }
}

} // namespace

void add_raw_functions(py::module_& module, PyMethodDef* table) {
  if (PyModule_AddFunctions(module.ptr(), table) < 0) {
    throw py::error_already_set();
  }
}

void add_device_functions(py::module_& module) {
  static bool allow_tf32 = true;
  static const int blas_handle = 1; // callers only check that its address is not null
  const auto handle = [] { return reinterpret_cast<uintptr_t>(&blas_handle); };
  add_raw_functions(module, device_methods);
  add_properties(module);
  module.attr("_musa_version") = kSdkVersion;
  module.def("_musa_init", &initialise);
  module.def("_musa_register_device_hook", [] {});
  module.def("_musa_canDeviceAccessPeer", &can_access_peer);
  module.def(
      "_musa_synchronize", [] { synchronize_device(current_device()); }, py::call_guard<py::gil_scoped_release>());
  module.def("_musa_isInBadFork", &in_bad_fork);
  module.def("_musa_getArchFlags", [] { return device_count() > 0 ? "22 31" : ""; });
  module.def("_musa_getCurrentBlasHandle", handle);
  module.def("_musa_getCurrentBlasLtHandle", handle);
  module.def("_musa_clearMublasWorkspaces", [] {});
  module.def("_musa_sleep", &spin);
  module.def("_musa_isCurrentStreamCapturing", [] { return active_capture() != nullptr; });
  module.def("_mudnn_version", [] { return 3000; });
  module.def("_mccl_version", [] { return int64_t{2} << 32 | 11 << 16 | 5; });
  module.def("_mccl_version_suffix", [] { return py::bytes(""); });
  module.def("_get_allow_tf32", [] { return allow_tf32; });
  module.def("_set_allow_tf32", [](bool allow) { allow_tf32 = allow; });
}

} // namespace musasim
