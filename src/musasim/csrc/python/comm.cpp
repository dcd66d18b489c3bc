// Copies between devices, for DataParallel.
#include "parts.h"

#include "../runtime/device.h"

#include <ATen/ATen.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <optional>
#include <vector>

namespace musasim {
namespace py = pybind11;
namespace {

using Tensors = std::vector<at::Tensor>;
using Devices = std::vector<int>;

c10::Device device_at(int index) {
  return c10::Device(kMusa, resolve_device(static_cast<c10::DeviceIndex>(index)));
}

at::Tensor copy_to(const at::Tensor& tensor, int device) {
  return tensor.to(device_at(device), /*non_blocking=*/true);
}

Tensors broadcast(const at::Tensor& tensor, const Devices& devices) {
  Tensors copies;
  for (const int device : devices) {
    copies.push_back(copy_to(tensor, device));
  }
  return copies;
}

std::vector<Tensors> broadcast_all(const Tensors& tensors, const Devices& devices, size_t /*buffer_size*/) {
  std::vector<Tensors> copies;
  for (const int device : devices) {
    Tensors here;
    for (const auto& tensor : tensors) {
      here.push_back(copy_to(tensor, device));
    }
    copies.push_back(std::move(here));
  }
  return copies;
}

Tensors scatter(
    const at::Tensor& tensor,
    const Devices& devices,
    const std::optional<std::vector<int64_t>>& sizes,
    int64_t dim,
    const py::object& /*streams*/) {
  const auto count = static_cast<int64_t>(devices.size());
  const auto chunks = sizes.has_value() ? tensor.split_with_sizes(*sizes, dim) : tensor.chunk(count, dim);
  Tensors copies;
  for (size_t i = 0; i < chunks.size(); ++i) {
    copies.push_back(copy_to(chunks[i], devices[i]));
  }
  return copies;
}

// Destination -1 is the host, none the current device.
at::Tensor gather(const Tensors& tensors, int64_t dim, std::optional<int> destination) {
  const bool to_host = destination.value_or(0) == -1;
  const auto target = to_host ? c10::Device(c10::DeviceType::CPU) : device_at(destination.value_or(-1));
  Tensors here;
  for (const auto& tensor : tensors) {
    here.push_back(tensor.to(target));
  }
  return at::cat(here, dim);
}

} // namespace

void add_comm_functions(py::module_& module) {
  const py::call_guard<py::gil_scoped_release> no_gil;
  module.def("_broadcast", &broadcast, no_gil);
  module.def("_broadcast_coalesced", &broadcast_all, no_gil);
  module.def(
      "_scatter",
      &scatter,
      py::arg("tensor"),
      py::arg("devices"),
      py::arg("chunk_sizes") = py::none(),
      py::arg("dim") = 0,
      py::arg("streams") = py::none());
  module.def("_gather", &gather, no_gil);
}

} // namespace musasim
