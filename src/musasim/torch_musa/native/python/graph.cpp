#include "parts.h"

#include "../ops/graph.h"
#include "../runtime/launches.h"
#include "../runtime/version.h"

#include "musart/ground/without_locks.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <optional>
#include <string>

#if __has_include(<ATen/core/GraphImplInterface.h>)
#include <ATen/core/GraphImplInterface.h>
#define MUSASIM_HAS_GRAPH_INTERFACE 1
#endif

namespace musasim {
namespace py = pybind11;
namespace {

#ifdef MUSASIM_HAS_GRAPH_INTERFACE
// torch.accelerator.Graph
struct AcceleratorGraph final : at::GraphImplInterface {
  explicit AcceleratorGraph(const at::GraphImplArgs&) {}

  void capture_begin(at::MempoolId_t pool, at::GraphCaptureMode mode) override {
    const auto wanted = mode == at::GraphCaptureMode::ThreadLocal ? CaptureMode::ThreadLocal
        : mode == at::GraphCaptureMode::Relaxed                    ? CaptureMode::Relaxed
                                                                   : CaptureMode::Global;
    graph_.capture_begin(PoolId(pool), wanted);
  }
  void capture_end() override {
    graph_.capture_end();
  }
  void instantiate() override {}
  void replay() override {
    graph_.replay();
  }
  void reset() override {
    graph_.reset();
  }
  at::MempoolId_t pool() const override {
    return graph_.pool();
  }
  void enable_debug_mode() override {
    graph_.enable_debug_mode();
  }
  void debug_dump(const std::string& path) override {
    graph_.debug_dump(path);
  }

 private:
  MusaGraph graph_;
};

std::unique_ptr<at::GraphImplInterface> make_graph(const at::GraphImplArgs& args) {
  return std::make_unique<AcceleratorGraph>(args);
}
#endif

void register_accelerator_graph() {
#ifdef MUSASIM_HAS_GRAPH_INTERFACE
  // The key is the current name of the device type, which is known only after the renaming.
  const auto name = c10::DeviceTypeName(kMusa, /*lower_case=*/false);
  if (!at::GraphImplRegistry()->Has(name)) {
    at::GraphImplRegistry()->Register(name, &make_graph);
  }
#endif
}

// A thread that waits for launches of graphs, or for work that waits in streams, does not keep Python from those that run it. When Python
// has ended, its answer says nothing.
void without_interpreter_lock(const std::function<void()>& work) {
  if (Py_IsInitialized() != 0 && PyGILState_Check() != 0) {
    const py::gil_scoped_release release;
    work();
  } else {
    work();
  }
}

// Those that still wait when the program ends run while Python is whole. Nobody hears of their errors any more, as on a device.
void finish_at_exit() {
  const auto finish = py::cpp_function(&musart::finish_launches, py::call_guard<py::gil_scoped_release>());
  py::module_::import("atexit").attr("register")(finish);
}

std::shared_ptr<MusaGraph> new_graph(bool keep_graph) {
  TORCH_CHECK_TYPE(!keep_graph || since(Release::v2_9_1), "torch_musa 2.7.1 knows no argument keep_graph");
  return std::make_shared<MusaGraph>(keep_graph);
}

} // namespace

void add_graph_types(py::module_& module) {
  register_accelerator_graph();
  musart::release_locks_for = &without_interpreter_lock;
  finish_at_exit();
  py::class_<MusaGraph, std::shared_ptr<MusaGraph>>(module, "_MUSAGraph")
      .def(py::init(&new_graph), py::arg("keep_graph") = false)
      .def(
          "capture_begin",
          [](MusaGraph& graph, std::optional<PoolId> pool, const std::string& mode) {
            graph.capture_begin(pool, capture_mode(mode));
          },
          py::arg("pool") = py::none(),
          py::arg("capture_error_mode") = "global")
      // Wrapped by torch, so that warnings become Python's.
      .def("capture_end", torch::wrap_pybind_function(&MusaGraph::capture_end))
      .def("instantiate", &MusaGraph::instantiate)
      .def("raw_musa_graph", &MusaGraph::raw_graph)
      .def("raw_musa_graph_exec", &MusaGraph::raw_executable)
      .def("replay", &MusaGraph::replay, py::call_guard<py::gil_scoped_release>())
      .def("reset", &MusaGraph::reset)
      .def("pool", &MusaGraph::pool)
      .def("enable_debug_mode", &MusaGraph::enable_debug_mode)
      .def("debug_dump", torch::wrap_pybind_function(&MusaGraph::debug_dump), py::arg("debug_path"))
      .def("reinstantiate_graph", &MusaGraph::reinstantiate);
  module.def("_graph_pool_handle", [] { return new_pool_id(/*user_created=*/true); });
}

} // namespace musasim
