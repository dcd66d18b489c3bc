#include "parts.h"

#include "../runtime/device.h"
#include "../runtime/ipc.h"
#include "../runtime/stream.h"

#include <musa_runtime_api.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/Event.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Stream.h>

#include <utility>

namespace musasim {
namespace py = pybind11;
namespace {

// Both types add methods but no fields to torch's own, so torch still handles construction, destruction and weak references,
// and its functions accept them directly.

c10::Stream stream_of(const THPStream* self) {
  return c10::Stream::unpack3(
      self->stream_id,
      static_cast<c10::DeviceIndex>(self->device_index),
      static_cast<c10::DeviceType>(self->device_type));
}

c10::Stream stream_from(PyObject* object) {
  TORCH_CHECK_TYPE(THPStream_Check(object), "expected a torch.musa.Stream, but got ", Py_TYPE(object)->tp_name);
  const auto stream = stream_of(reinterpret_cast<THPStream*>(object));
  TORCH_CHECK(stream.device_type() == kMusa, "expected a stream of a MUSA device, but got ", stream);
  return stream;
}

c10::Stream choose_stream(int priority, long long id, int device, int type, unsigned long long handle) {
  if (handle != 0) {
    TORCH_CHECK(priority == 0, "Priority was explicitly set for a external stream");
    return external_stream(current_device(), reinterpret_cast<void*>(handle));
  }
  if (id != 0 || device != 0 || type != 0) {
    TORCH_CHECK(type == static_cast<int>(kMusa), "a MUSA stream needs device_type=", static_cast<int>(kMusa));
    return make_stream(resolve_device(static_cast<c10::DeviceIndex>(device)), id);
  }
  return pool_stream(current_device(), priority);
}

PyObject* stream_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS
  const char* names[] = {"priority", "stream_id", "device_index", "device_type", "stream_ptr", nullptr};
  int priority = 0;
  long long id = 0;
  int device = 0;
  int device_type = 0;
  unsigned long long handle = 0;
  if (PyArg_ParseTupleAndKeywords(
          args, kwargs, "|iLiiK", const_cast<char**>(names), &priority, &id, &device, &device_type, &handle) == 0) {
    return nullptr;
  }
  const auto stream = choose_stream(priority, id, device, device_type, handle);
  auto* self = reinterpret_cast<THPStream*>(type->tp_alloc(type, 0));
  if (self != nullptr) {
    self->stream_id = stream.id();
    self->device_index = stream.device_index();
    self->device_type = static_cast<int64_t>(stream.device_type());
  }
  return reinterpret_cast<PyObject*>(self);
  END_HANDLE_TH_ERRORS
}

PyObject* stream_query(PyObject* self, PyObject*) {
  HANDLE_TH_ERRORS
  return PyBool_FromLong(is_idle(stream_from(self)));
  END_HANDLE_TH_ERRORS
}

PyObject* stream_synchronize(PyObject* self, PyObject*) {
  HANDLE_TH_ERRORS
  const auto stream = stream_from(self);
  {
    const py::gil_scoped_release release;
    synchronize_stream(stream);
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* stream_priority_range(PyObject*, PyObject*) {
  return Py_BuildValue("(ii)", 0, kHighestPriority);
}

PyObject* stream_get_handle(PyObject* self, void*) {
  HANDLE_TH_ERRORS
  return PyLong_FromVoidPtr(stream_handle(stream_from(self)));
  END_HANDLE_TH_ERRORS
}

PyObject* stream_get_priority(PyObject* self, void*) {
  HANDLE_TH_ERRORS
  return PyLong_FromLong(stream_priority(stream_from(self)));
  END_HANDLE_TH_ERRORS
}

PyObject* stream_compare(PyObject* self, PyObject* other, int op) {
  HANDLE_TH_ERRORS
  if ((op != Py_EQ && op != Py_NE) || !THPStream_Check(other)) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  const bool equal = stream_of(reinterpret_cast<THPStream*>(self)) == stream_of(reinterpret_cast<THPStream*>(other));
  return PyBool_FromLong(equal == (op == Py_EQ));
  END_HANDLE_TH_ERRORS
}

Py_hash_t stream_hash(PyObject* self) {
  const auto hash = static_cast<Py_hash_t>(stream_of(reinterpret_cast<THPStream*>(self)).hash());
  return hash == -1 ? -2 : hash;
}

PyMethodDef stream_methods[] = {
    {"query", stream_query, METH_NOARGS, nullptr},
    {"synchronize", stream_synchronize, METH_NOARGS, nullptr},
    {"priority_range", stream_priority_range, METH_NOARGS | METH_STATIC, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef stream_properties[] = {
    {"musa_stream", stream_get_handle, nullptr, nullptr, nullptr},
    {"priority", stream_get_priority, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

THPEvent* event_of(PyObject* self) {
  return reinterpret_cast<THPEvent*>(self);
}

PyObject* allocate_event(PyTypeObject* type, bool timing) {
  auto* self = type->tp_alloc(type, 0);
  if (self != nullptr) {
    const auto flag = timing ? c10::EventFlag::BACKEND_DEFAULT : c10::EventFlag::PYTORCH_DEFAULT;
    new (&event_of(self)->event) c10::Event(kMusa, flag);
  }
  return self;
}

PyObject* event_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS
  const char* names[] = {"enable_timing", "blocking", "interprocess", nullptr};
  // Numbers of a byte, as in torch_musa and for CUDA: what is neither a number nor a bool is refused, and so is 256.
  unsigned char timing = 0;
  unsigned char blocking = 0;
  unsigned char interprocess = 0;
  if (PyArg_ParseTupleAndKeywords(
          args, kwargs, "|bbb", const_cast<char**>(names), &timing, &blocking, &interprocess) == 0) {
    return nullptr;
  }
  TORCH_CHECK(timing == 0 || interprocess == 0, "MUSA error: invalid argument");
  return allocate_event(type, timing != 0);
  END_HANDLE_TH_ERRORS
}

// The state of an event. torch creates it at the first record, so an event without state is recorded on its device as done.
EventState& state_of(c10::Event& event, c10::DeviceIndex device) {
  if (event.eventId() == nullptr) {
    event.record(default_stream(device));
    static_cast<EventState*>(event.eventId())->when_ns = 0;
  }
  return *static_cast<EventState*>(event.eventId());
}

// The stream that an event is recorded on or waited for by, and whether this becomes a node of a graph.
std::pair<c10::Stream, bool> order_from(PyObject* args) {
  PyObject* stream = nullptr;
  int external = 0;
  if (PyArg_ParseTuple(args, "O|p", &stream, &external) == 0) {
    throw py::error_already_set();
  }
  const auto on = stream_from(stream);
  return {on, external != 0 && stream_state(on).capture.load() != nullptr};
}

PyObject* event_record(PyObject* self, PyObject* args) {
  HANDLE_TH_ERRORS
  auto& event = event_of(self)->event;
  const auto [stream, as_node] = order_from(args);
  if (as_node) {
    musart::record_event_at_launch(state_of(event, stream.device_index()), stream_state(stream));
  } else {
    event.record(stream);
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* event_wait(PyObject* self, PyObject* args) {
  HANDLE_TH_ERRORS
  auto& event = event_of(self)->event;
  const auto [stream, as_node] = order_from(args);
  if (as_node) {
    musart::block_on_event_at_launch(state_of(event, stream.device_index()), stream_state(stream));
  } else {
    event.block(stream);
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* event_query(PyObject* self, PyObject*) {
  HANDLE_TH_ERRORS
  return PyBool_FromLong(event_of(self)->event.query());
  END_HANDLE_TH_ERRORS
}

PyObject* event_synchronize(PyObject* self, PyObject*) {
  HANDLE_TH_ERRORS
  {
    const py::gil_scoped_release release;
    event_of(self)->event.synchronize();
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* event_elapsed_time(PyObject* self, PyObject* other) {
  HANDLE_TH_ERRORS
  TORCH_CHECK_TYPE(THPEvent_Check(other), "expected a torch.musa.Event, but got ", Py_TYPE(other)->tp_name);
  const auto& begin = event_of(self)->event;
  const auto& end = event_of(other)->event;
  TORCH_CHECK(
      begin.was_marked_for_recording() && end.was_marked_for_recording(),
      "Both events must be recorded before calculating elapsed time.");
  // The rest the driver refuses, with its own words.
  const bool timing = begin.flag() == c10::EventFlag::BACKEND_DEFAULT && end.flag() == c10::EventFlag::BACKEND_DEFAULT;
  if (!timing || begin.device() != end.device()) {
    raise_musa_error(musaGetErrorString(musaErrorInvalidResourceHandle));
  }
  if (!begin.query() || !end.query()) {
    raise_musa_error(musaGetErrorString(musaErrorNotReady));
  }
  return PyFloat_FromDouble(begin.elapsedTime(end));
  END_HANDLE_TH_ERRORS
}

PyObject* event_ipc_handle(PyObject* self, PyObject*) {
  HANDLE_TH_ERRORS
  const auto handle = event_handle(state_of(event_of(self)->event, current_device()));
  return PyBytes_FromStringAndSize(handle.data(), static_cast<Py_ssize_t>(handle.size()));
  END_HANDLE_TH_ERRORS
}

// A device, its name, or its number.
c10::Device device_from(PyObject* object) {
  if (PyLong_Check(object)) {
    return c10::Device(kMusa, resolve_device(static_cast<c10::DeviceIndex>(PyLong_AsLong(object))));
  }
  if (PyUnicode_Check(object)) {
    return c10::Device(PyUnicode_AsUTF8(object));
  }
  TORCH_CHECK_TYPE(THPDevice_Check(object), "expected a torch.device, but got ", Py_TYPE(object)->tp_name);
  return reinterpret_cast<THPDevice*>(object)->device;
}

PyObject* event_from_ipc_handle(PyObject* type, PyObject* args) {
  HANDLE_TH_ERRORS
  PyObject* device = nullptr;
  PyObject* handle = nullptr;
  if (PyArg_ParseTuple(args, "OS", &device, &handle) == 0) {
    return nullptr;
  }
  const auto target = device_from(device);
  TORCH_CHECK(
      target.type() == kMusa,
      "Event can only be created on MUSA devices, but got device type ",
      target.type());
  auto made = py::reinterpret_steal<py::object>(allocate_event(reinterpret_cast<PyTypeObject*>(type), false));
  if (made) {
    open_event(state_of(event_of(made.ptr())->event, target.index()), std::string(PyBytes_AS_STRING(handle), static_cast<size_t>(PyBytes_GET_SIZE(handle))));
  }
  return made.release().ptr();
  END_HANDLE_TH_ERRORS
}

PyObject* event_get_device(PyObject* self, void*) {
  HANDLE_TH_ERRORS
  const auto& event = event_of(self)->event;
  if (!event.was_marked_for_recording()) {
    Py_RETURN_NONE;
  }
  return THPDevice_New(event.device());
  END_HANDLE_TH_ERRORS
}

PyObject* event_get_handle(PyObject* self, void*) {
  HANDLE_TH_ERRORS
  return PyLong_FromVoidPtr(event_of(self)->event.eventId());
  END_HANDLE_TH_ERRORS
}

PyMethodDef event_methods[] = {
    {"record", event_record, METH_VARARGS, nullptr},
    {"wait", event_wait, METH_VARARGS, nullptr},
    {"query", event_query, METH_NOARGS, nullptr},
    {"elapsed_time", event_elapsed_time, METH_O, nullptr},
    {"synchronize", event_synchronize, METH_NOARGS, nullptr},
    {"ipc_handle", event_ipc_handle, METH_NOARGS, nullptr},
    {"from_ipc_handle", event_from_ipc_handle, METH_VARARGS | METH_CLASS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef event_properties[] = {
    {"device", event_get_device, nullptr, nullptr, nullptr},
    {"musa_event", event_get_handle, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

void add_type(py::module_& module, const char* name, PyTypeObject& type) {
  if (PyType_Ready(&type) < 0) {
    throw py::error_already_set();
  }
  module.add_object(name, reinterpret_cast<PyObject*>(&type));
}

PyTypeObject derive(const char* name, PyTypeObject* base, newfunc make) {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = name;
  type.tp_base = base;
  type.tp_basicsize = base->tp_basicsize;
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  type.tp_new = make;
  return type;
}

} // namespace

void add_stream_types(py::module_& module) {
  static PyTypeObject stream_type = derive("torch_musa._MUSAC._MusaStreamBase", THPStreamClass, &stream_new);
  stream_type.tp_methods = stream_methods;
  stream_type.tp_getset = stream_properties;
  stream_type.tp_richcompare = &stream_compare;
  stream_type.tp_hash = &stream_hash;
  add_type(module, "_MusaStreamBase", stream_type);

  static PyTypeObject event_type = derive("torch_musa._MUSAC._MusaEventBase", THPEventClass, &event_new);
  event_type.tp_methods = event_methods;
  event_type.tp_getset = event_properties;
  add_type(module, "_MusaEventBase", event_type);

  const auto pack = [](c10::Stream stream) {
    return py::make_tuple(stream.id(), int{stream.device_index()}, static_cast<int>(stream.device_type()));
  };
  module.def("_musa_getDefaultStream", [pack](int device) {
    return pack(default_stream(static_cast<c10::DeviceIndex>(device)));
  });
  module.def("_musa_getStreamFromExternal", [pack](uintptr_t handle, int device) {
    const auto index = static_cast<c10::DeviceIndex>(device);
    return pack(handle == 0 ? default_stream(index) : external_stream(index, reinterpret_cast<void*>(handle))); // NOLINT
  });
  module.def(
      "_musa_setStream",
      [](int64_t id, int device, int type) {
        TORCH_CHECK(type == static_cast<int>(kMusa), "expected a stream of a MUSA device");
        const auto index = resolve_device(static_cast<c10::DeviceIndex>(device));
        exchange_device(index);
        set_current_stream(make_stream(index, id));
      },
      py::arg("stream_id"),
      py::arg("device_index"),
      py::arg("device_type"));
}

} // namespace musasim
