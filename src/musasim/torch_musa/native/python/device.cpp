#include "parts.h"

#include "../runtime/allocator.h"
#include "../runtime/capture.h"
#include "../runtime/device.h"
#include "../runtime/generator.h"
#include "../runtime/launches.h"
#include "../runtime/release.h"
#include "../runtime/pluggable.h"
#include "../runtime/stream.h"
#include "../runtime/trace.h"

#include <musa_runtime_api.h>
#include <pybind11/stl.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/utils/pybind.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace musasim {
namespace py = pybind11;
namespace {

// Called whenever a Python program handles devices, so it avoids pybind11's slow argument parsing.
c10::DeviceIndex index_from(PyObject* value, const char* function) {
  TORCH_CHECK(PyLong_Check(value), "invalid argument to ", function);
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
  set_device(index_from(value, "setDevice"));
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* exchange_device_to(PyObject*, PyObject* value) {
  HANDLE_TH_ERRORS
  return PyLong_FromLong(exchange_device(index_from(value, "exchangeDevice")));
  END_HANDLE_TH_ERRORS
}

PyObject* maybe_exchange_device_to(PyObject*, PyObject* value) {
  HANDLE_TH_ERRORS
  const auto index = index_from(value, "exchangeDevice");
  return PyLong_FromLong(index < 0 ? -1 : exchange_device(index));
  END_HANDLE_TH_ERRORS
}

PyObject* get_current_stream(PyObject*, PyObject* value) {
  HANDLE_TH_ERRORS
  const auto stream = current_stream(index_from(value, "getCurrentStream"));
  return Py_BuildValue(
      "(Lii)", static_cast<long long>(stream.id()), int{stream.device_index()}, static_cast<int>(stream.device_type()));
  END_HANDLE_TH_ERRORS
}

PyObject* get_current_raw_stream(PyObject*, PyObject* value) {
  HANDLE_TH_ERRORS
  return PyLong_FromVoidPtr(stream_handle(current_stream(index_from(value, "getCurrentStream"))));
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

// The identity of a device, by its number in the machine: the simulated mthreads-gmi shows the same one.
struct Uuid {
  std::array<uint8_t, 16> bytes{};

  std::string text() const {
    std::string made;
    for (size_t i = 0; i < bytes.size(); ++i) {
      char digits[4];
      std::snprintf(digits, sizeof(digits), i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", bytes[i]);
      made += digits;
    }
    return made;
  }
};

struct NumberedProperties : DeviceProperties {
  int index = 0;

  explicit NumberedProperties(int index_) : DeviceProperties(device_properties()), index(index_) {}

  int attribute(musaDeviceAttr number) const {
    return attribute_of(index, number);
  }
  static int attribute_of(int device, musaDeviceAttr number) {
    int value = 0;
    TORCH_CHECK(musaDeviceGetAttribute(&value, number, device) == musaSuccess, "MUSA error: invalid device ordinal");
    return value;
  }
  Uuid uuid() const {
    Uuid made;
    made.bytes.back() = static_cast<uint8_t>(attribute(musaDevAttrPciBusId));
    return made;
  }
};

// One object for each device, as with a driver.
const NumberedProperties& checked_properties(int index) {
  check_device(static_cast<c10::DeviceIndex>(index));
  static const auto* all = [] {
    auto* made = new std::vector<NumberedProperties>();
    for (int device = 0; device < device_count(); ++device) {
      made->emplace_back(device);
    }
    return made;
  }();
  return all->at(static_cast<size_t>(index));
}

// The attributes that torch_musa has only after initialisation.
void initialise() {
  refuse_after_fork();
  TORCH_CHECK(device_count() > 0, "No MUSA GPUs are available");
  arm_fork_guard();
  mark_allocator_used();
  initialise_allocator();
  const py::dict loaded = py::module_::import("sys").attr("modules");
  if (loaded.contains("torch_musa")) {
    py::object package = loaded["torch_musa"];
    package.attr("default_generators") = default_generators();
    package.attr("has_half") = true;
    package.attr("_get_device_properties") = py::cpp_function(&checked_properties, py::return_value_policy::reference);
  }
}

std::string describe(const NumberedProperties& p) {
  const std::string quote = since(Release::v2_11_0) ? "" : "'"; // torch_musa's, which nothing closes
  const std::string known = "_MusaDeviceProperties(name='" + p.name + "', major=" + quote + std::to_string(p.major) +
      ", minor=" + std::to_string(p.minor) + ", total_memory=" + std::to_string(p.total_memory / (1024 * 1024)) +
      "MB, multi_processor_count=" + std::to_string(p.multi_processor_count);
  if (!since(Release::v2_11_0)) {
    return known + ")";
  }
  const auto number = [&](musaDeviceAttr attribute) { return std::to_string(p.attribute(attribute)); };
  return known + ", uuid=" + p.uuid().text() + ", pci_bus_id=" + number(musaDevAttrPciBusId) +
      ", pci_device_id=" + number(musaDevAttrPciDeviceId) + ", pci_domain_id=" + number(musaDevAttrPciDomainId) +
      ", L2_cache_size=" + std::to_string(p.attribute(musaDevAttrL2CacheSize) >> 20) + "MB)";
}

const std::pair<const char*, musaDeviceAttr> kAttributes[] = {
    {"max_threads_per_multi_processor", musaDevAttrMaxThreadsPerMultiProcessor},
    {"max_threads_per_block", musaDevAttrMaxThreadsPerBlock},
    {"warp_size", musaDevAttrWarpSize},
    {"shared_memory_per_block", musaDevAttrMaxSharedMemoryPerBlock},
    {"shared_memory_per_multiprocessor", musaDevAttrMaxSharedMemoryPerMultiprocessor},
    {"shared_memory_per_block_optin", musaDevAttrMaxSharedMemoryPerBlockOptin},
    {"regs_per_multiprocessor", musaDevAttrMaxRegistersPerMultiprocessor},
    {"memory_bus_width", musaDevAttrGlobalMemoryBusWidth},
    {"L2_cache_size", musaDevAttrL2CacheSize},
    {"pci_bus_id", musaDevAttrPciBusId},
    {"pci_device_id", musaDevAttrPciDeviceId},
    {"pci_domain_id", musaDevAttrPciDomainId},
};
const std::pair<const char*, musaDeviceAttr> kClocks[] = {
    {"clock_rate", musaDevAttrClockRate},
    {"memory_clock_rate", musaDevAttrMemoryClockRate},
};

bool can_access_peer(int device, int peer) {
  check_device(static_cast<c10::DeviceIndex>(device));
  check_device(static_cast<c10::DeviceIndex>(peer));
  return device != peer;
}

void add_properties(py::module_& module) {
  py::class_<Uuid>(module, "_MusaUUID")
      .def_property_readonly("bytes", [](const Uuid& uuid) { return std::vector<int>(uuid.bytes.begin(), uuid.bytes.end()); })
      .def("__str__", &Uuid::text);
  py::class_<NumberedProperties> properties(module, "_MusaDeviceProperties");
  properties
      .def_readonly("name", &NumberedProperties::name)
      .def_readonly("major", &NumberedProperties::major)
      .def_readonly("minor", &NumberedProperties::minor)
      .def_readonly("is_multi_gpu_board", &NumberedProperties::is_multi_gpu_board)
      .def_readonly("is_integrated", &NumberedProperties::is_integrated)
      .def_readonly("multi_processor_count", &NumberedProperties::multi_processor_count)
      .def_readonly("total_memory", &NumberedProperties::total_memory)
      .def_property_readonly("gcnArchName", [](const NumberedProperties& p) { return p.name; })
      .def_property_readonly("uuid", &NumberedProperties::uuid)
      .def("__repr__", &describe);
  for (const auto& [name, number] : kAttributes) {
    properties.def_property_readonly(name, [number = number](const NumberedProperties& p) { return p.attribute(number); });
  }
  // torch_musa asks for these of the current device, whichever the properties are of.
  for (const auto& [name, number] : kClocks) {
    properties.def_property_readonly(name, [number = number](const NumberedProperties&) {
      return NumberedProperties::attribute_of(current_device(), number);
    });
  }
}

// 0: nothing, 1: a warning, 2: an error, where the host waits for the device.
void set_sync_debug_mode(int mode) {
  TORCH_WARN_ONCE("Synchronization debug mode is a prototype feature and does not yet detect all synchronizing operations");
  TORCH_CHECK(mode >= 0 && mode <= 2, "invalid value of debug_mode, expected one of 0,1,2");
  sync_debug_mode() = static_cast<SyncDebug>(mode);
}

// Captured, it keeps the stream of each launch busy.
void spin(const py::object& wanted) {
  TORCH_CHECK(py::isinstance<py::int_>(wanted), "torch.musa._sleep(): expected 'int'");
  const auto cycles = wanted.cast<int64_t>();
  const auto stream = current_stream(-1);
  if (auto* capture = stream_state(stream).capture.load()) {
    const auto run = [cycles] {
      auto& launching = musart::launching_stream();
      launching.busy_until = musart::completion_ns(launching) + cycles;
    };
    capture->add({"musasim::spin", run, nullptr, /*at_once=*/true}, stream_state(stream));
    return;
  }
  const auto start_ns = completion_ns(stream);
  keep_busy(stream, cycles);
  if (is_tracing()) {
    const auto launch = trace_launch("musaLaunchKernel");
    trace_work(Traced::Kernel, "musasim::spin", stream, start_ns, start_ns + cycles, launch);
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
  module.def("_musa_set_sync_debug_mode", torch::wrap_pybind_function(&set_sync_debug_mode)); // so that its warning is Python's
  module.def("_musa_get_sync_debug_mode", [] { return static_cast<int>(sync_debug_mode()); });
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
  // That of the toolkits that the releases are for.
  module.def("_mccl_version", [] { return since(Release::v2_9_1) ? int64_t{2} << 32 | 28 << 16 | 9 : int64_t{2} << 32 | 11 << 16 | 5; });
  module.def("_mccl_version_suffix", [] { return py::bytes(""); });
  module.def("_get_allow_tf32", [] { return allow_tf32; });
  module.def("_set_allow_tf32", [](bool allow) { allow_tf32 = allow; });
}

} // namespace musasim
