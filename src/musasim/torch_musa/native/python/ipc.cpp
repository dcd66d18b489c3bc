// Storages and events of the device in several processes, and storages that become another device's.
#include "parts.h"

#include "../runtime/ipc.h"
#include "../runtime/unified_memory.h"

#include <torch/csrc/Device.h>
#include <torch/csrc/Event.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Storage.h>

namespace musasim {
namespace py = pybind11;
namespace {

py::object bytes_or_none(const std::string& text) {
  return text.empty() ? py::object(py::none()) : py::object(py::bytes(text));
}

const c10::Storage& storage_from(const py::object& storage) {
  TORCH_CHECK_TYPE(THPStorage_Check(storage.ptr()), "expected a storage, but got ", Py_TYPE(storage.ptr())->tp_name);
  return THPStorage_Unpack(storage.ptr());
}

// Eight values, in the order of torch's _share_cuda_. The event's handle is the time at which the memory is ready.
py::tuple share(const py::object& storage) {
  const auto sent = send_storage(storage_from(storage));
  const auto ready = std::string(reinterpret_cast<const char*>(&sent.ready_ns), sizeof(sent.ready_ns));
  return py::make_tuple(
      int{sent.device},
      bytes_or_none(sent.memory),
      sent.bytes,
      sent.offset,
      bytes_or_none(sent.counter),
      sent.counter_index,
      py::bytes(ready),
      !sent.memory.empty());
}

py::object open_shared(
    int device,
    const std::string& memory,
    uint64_t bytes,
    uint64_t offset,
    const std::string& counter,
    int64_t counter_index,
    const std::string& ready,
    bool wait) {
  SentStorage sent;
  sent.device = static_cast<c10::DeviceIndex>(device);
  sent.memory = memory;
  sent.bytes = bytes;
  sent.offset = offset;
  sent.counter = counter;
  sent.counter_index = counter_index;
  if (wait) {
    TORCH_CHECK(ready.size() == sizeof(sent.ready_ns), "MUSA error: invalid argument");
    std::memcpy(&sent.ready_ns, ready.data(), sizeof(sent.ready_ns));
  }
  return py::reinterpret_steal<py::object>(THPStorage_Wrap(receive_storage(sent)));
}

void edit_device(const py::object& storage, const py::object& device) {
  TORCH_CHECK_TYPE(
      THPDevice_Check(device.ptr()) || py::isinstance<py::str>(device),
      "edit_device(): argument 'device' must be torch.device, not ",
      Py_TYPE(device.ptr())->tp_name);
  const auto target = py::isinstance<py::str>(device) ? c10::Device(device.cast<std::string>())
                                                      : reinterpret_cast<THPDevice*>(device.ptr())->device;
  say_device(*storage_from(storage).unsafeGetStorageImpl(), target);
}

} // namespace

void add_ipc_functions(py::module_& module) {
  module.def("_share_musa_", &share);
  module.def("_new_shared_musa", &open_shared);
  module.def("_edit_device_musa", &edit_device);
  module.def("_release_ipc_counter_musa", &release_sent);
  module.def("_musa_ipc_collect", &collect_sent);
}

} // namespace musasim
