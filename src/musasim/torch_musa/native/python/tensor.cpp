#include "parts.h"

#include "../runtime/device.h"

#include <ATen/ATen.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/MemoryFormat.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/device_lazy_init.h>

#include <vector>

namespace musasim {
namespace py = pybind11;
namespace {

bool is_tensor(PyObject* object) {
  return PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(THPVariableClass)) != 0;
}

// A property of every tensor that is read often, so it uses no argument parser.
PyObject* is_musa(PyObject*, PyObject* object) {
  HANDLE_TH_ERRORS
  TORCH_CHECK_TYPE(is_tensor(object), "is_musa: expected a Tensor, but got ", Py_TYPE(object)->tp_name);
  return PyBool_FromLong(THPVariable_Unpack(object).is_privateuseone());
  END_HANDLE_TH_ERRORS
}

PyMethodDef tensor_methods[] = {{"_is_musa", is_musa, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

c10::Device musa_device(const py::object& given) {
  if (given.is_none()) {
    return c10::Device(kMusa, current_device());
  }
  if (py::isinstance<py::int_>(given)) {
    return c10::Device(kMusa, given.cast<c10::DeviceIndex>());
  }
  const auto device = py::isinstance<py::str>(given) ? c10::Device(given.cast<std::string>())
                                                     : reinterpret_cast<THPDevice*>(given.ptr())->device;
  TORCH_CHECK(device.type() == kMusa, "Invalid device, must be musa device");
  return c10::Device(kMusa, device.has_index() ? device.index() : current_device());
}

py::object move_to_musa(
    const py::object& tensor, const py::object& device, bool non_blocking, const py::object& memory_format) {
  TORCH_CHECK_TYPE(is_tensor(tensor.ptr()), "musa(): expected a Tensor, but got ", Py_TYPE(tensor.ptr())->tp_name);
  TORCH_CHECK_TYPE(
      device.is_none() || py::isinstance<py::int_>(device) || py::isinstance<py::str>(device) || THPDevice_Check(device.ptr()),
      "musa(): argument 'device' must be torch.device, str or int, not ",
      Py_TYPE(device.ptr())->tp_name);
  torch::utils::device_lazy_init(kMusa);
  std::optional<at::MemoryFormat> format;
  if (!memory_format.is_none()) {
    format = reinterpret_cast<THPMemoryFormat*>(memory_format.ptr())->memory_format;
  }
  const auto target = musa_device(device);
  const auto& self = THPVariable_Unpack(tensor.ptr());
  at::Tensor moved;
  {
    const py::gil_scoped_release release;
    moved = self.to(self.options().device(target), non_blocking, /*copy=*/false, format);
  }
  return py::reinterpret_steal<py::object>(THPVariable_Wrap(moved));
}

std::vector<int64_t> numbers(const py::sequence& values) {
  std::vector<int64_t> made;
  for (const auto& value : values) {
    made.push_back(value.cast<int64_t>());
  }
  return made;
}

py::object empty_strided(const py::sequence& size, const py::sequence& stride, const py::object& dtype) {
  TORCH_CHECK_TYPE(THPDtype_Check(dtype.ptr()), "_empty_strided_musa: expected a torch.dtype");
  torch::utils::device_lazy_init(kMusa);
  const auto type = reinterpret_cast<THPDtype*>(dtype.ptr())->scalar_type;
  const auto options = at::TensorOptions(c10::Device(kMusa, current_device())).dtype(type);
  return py::reinterpret_steal<py::object>(
      THPVariable_Wrap(at::empty_strided(numbers(size), numbers(stride), options)));
}

} // namespace

void add_tensor_functions(py::module_& module) {
  add_raw_functions(module, tensor_methods);
  module.def(
      "_musa",
      &move_to_musa,
      py::arg("self"),
      py::arg("device") = py::none(),
      py::arg("non_blocking") = false,
      py::kw_only(),
      py::arg("memory_format") = py::none());
  module.def("_empty_strided_musa", &empty_strided);
  module.def("_storage_Use_Count", [](size_t storage) {
    return c10::raw::intrusive_ptr::use_count(reinterpret_cast<c10::StorageImpl*>(storage)); // NOLINT
  });
}

} // namespace musasim
