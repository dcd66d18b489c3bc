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

void check_output(const at::Tensor& tensor, size_t index) {
  TORCH_CHECK(
      tensor.device().type() == kMusa,
      "Expected all output tensors to be MUSA tensors, but output tensor at index ",
      index,
      " has device '",
      tensor.device(),
      "'");
}

Tensors broadcast_out(const at::Tensor& tensor, Tensors& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    check_output(outputs[i], i);
    TORCH_CHECK(
        outputs[i].sizes() == tensor.sizes(),
        "Expected all output tensors to have same shape as the source tensor ",
        tensor.sizes(),
        ", but output tensor at index ",
        i,
        " has shape ",
        outputs[i].sizes());
    outputs[i].copy_(tensor, /*non_blocking=*/true);
  }
  return outputs;
}

void check_chunks(const Devices& devices, const std::optional<std::vector<int64_t>>& sizes) {
  TORCH_CHECK(!devices.empty(), "Expected at least one device to scatter to");
  TORCH_CHECK(
      !sizes.has_value() || sizes->size() == devices.size(),
      "Expected devices and chunk_sizes to be of same length, but got len(devices) = ",
      devices.size(),
      " and len(chunk_sizes) = ",
      sizes.has_value() ? sizes->size() : 0);
}

// Streams are given one for each piece, or none; a piece is copied on the current stream all the same.
void check_stream(const py::object& streams, size_t index, const at::Device& device) {
  if (streams.is_none()) {
    return;
  }
  const auto stream = streams.cast<py::sequence>()[index].cast<py::object>();
  TORCH_CHECK(
      stream.is_none() || stream.attr("device_index").cast<int>() == device.index(),
      "Expected the device associated with the stream at index ",
      index,
      " to match the device supplied at that index (expected ",
      static_cast<int>(device.index()),
      ")");
}

Tensors scatter(
    const at::Tensor& tensor,
    const Devices& devices,
    const std::optional<std::vector<int64_t>>& sizes,
    int64_t dim,
    const py::object& streams) {
  check_chunks(devices, sizes);
  const auto count = static_cast<int64_t>(devices.size());
  const auto chunks = sizes.has_value() ? tensor.split_with_sizes(*sizes, dim) : tensor.chunk(count, dim);
  Tensors copies;
  for (size_t i = 0; i < chunks.size(); ++i) {
    check_stream(streams, i, device_at(devices[i]));
    copies.push_back(copy_to(chunks[i], devices[i]));
  }
  return copies;
}

Tensors scatter_out(const at::Tensor& tensor, Tensors& outputs, int64_t dim, const py::object& streams) {
  TORCH_CHECK(!outputs.empty(), "Expected at least one output tensor to scatter to");
  dim = at::maybe_wrap_dim(dim, tensor.dim());
  int64_t total = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    check_output(outputs[i], i);
    check_stream(streams, i, outputs[i].device());
    TORCH_CHECK(
        outputs[i].dim() == tensor.dim(),
        "Output tensor at index ",
        i,
        " has incorrect number of dimensions: expected ",
        tensor.dim(),
        ", but got ",
        outputs[i].dim());
    total += outputs[i].size(dim);
  }
  TORCH_CHECK(
      total == tensor.size(dim),
      "Total size for output tensors along scatter dim ",
      dim,
      " does not match the source tensor's size ",
      tensor.size(dim));
  int64_t begin = 0;
  for (auto& output : outputs) {
    output.copy_(tensor.narrow(dim, begin, output.size(dim)), /*non_blocking=*/true);
    begin += output.size(dim);
  }
  return outputs;
}

bool same_but_for(int64_t dim, const at::Tensor& a, const at::Tensor& b) {
  auto expected = a.sizes().vec();
  if (!expected.empty()) {
    expected[static_cast<size_t>(dim)] = b.size(dim);
  }
  return b.sizes() == at::IntArrayRef(expected);
}

void check_inputs(const Tensors& tensors, int64_t dim) {
  TORCH_CHECK(!tensors.empty(), "Expected at least one tensor to gather from");
  const auto& first = tensors.front();
  for (size_t i = 0; i < tensors.size(); ++i) {
    TORCH_CHECK(
        tensors[i].device().type() == kMusa,
        "Expected all input tensors to be MUSA tensors, but tensor at index ",
        i,
        " has device '",
        tensors[i].device(),
        "'");
    TORCH_CHECK(
        tensors[i].dim() == first.dim(),
        "Expected all input tensors to have the same number of dimensions, but tensor at index ",
        i,
        " has ",
        tensors[i].dim(),
        " dimensions, (expected ",
        first.dim(),
        ")");
    TORCH_CHECK(
        same_but_for(dim, first, tensors[i]),
        "Input tensor at index ",
        i,
        " has invalid shape ",
        tensors[i].sizes(),
        ", but expected the shape ",
        first.sizes(),
        " of the first one, but for dimension ",
        dim);
  }
}

at::Tensor gather_out(const Tensors& tensors, at::Tensor& output, int64_t dim) {
  dim = at::maybe_wrap_dim(dim, tensors.at(0).dim());
  check_inputs(tensors, dim);
  auto expected = tensors.front().sizes().vec();
  Tensors here;
  if (!expected.empty()) {
    expected[static_cast<size_t>(dim)] = 0;
  }
  for (const auto& tensor : tensors) {
    here.push_back(tensor.to(output.device()));
    if (!expected.empty()) {
      expected[static_cast<size_t>(dim)] += tensor.size(dim);
    }
  }
  TORCH_CHECK(
      output.sizes() == at::IntArrayRef(expected),
      "Expected out tensor to have shape ",
      at::IntArrayRef(expected),
      ", but got ",
      output.sizes());
  return output.copy_(at::cat(here, dim));
}

// Destination -1 is the host, none the current device.
at::Tensor gather(const Tensors& tensors, int64_t dim, std::optional<int> destination) {
  TORCH_CHECK(!tensors.empty(), "Expected at least one tensor to gather from");
  dim = at::maybe_wrap_dim(dim, tensors.front().dim());
  check_inputs(tensors, dim);
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
  module.def("_broadcast_out", &broadcast_out);
  module.def("_scatter_out", &scatter_out, py::arg("tensor"), py::arg("out"), py::arg("dim"), py::arg("streams") = py::none());
  module.def("_gather_out", &gather_out);
}

} // namespace musasim
