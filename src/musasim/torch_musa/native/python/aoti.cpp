// The submodule _aoti, and how PyTorch's loader of packages finds its class: by the name of the device, which a package contains.
#include "parts.h"

#include "torch_musa/csrc/core/MUSAStream.h"

#include <torch/csrc/inductor/aoti_runner/model_container_runner.h>
#include <torch/csrc/utils/pybind.h>

namespace musasim {
namespace {

// A model's library calls operators by functions that `shims` compiles, once for each PyTorch, and loads.
std::string with_operators(const std::string& library) {
  pybind11::gil_scoped_acquire locked;
  pybind11::module_::import("torch_musa._inductor.shims").attr("load")();
  return library;
}

class Runner : public torch::inductor::AOTIModelContainerRunner {
 public:
  explicit Runner(
      const std::string& library,
      size_t models = 1,
      const std::string& device = "musa",
      const std::string& kernels = "",
      bool single_threaded = false)
      : AOTIModelContainerRunner(with_operators(library), models, device, kernels, single_threaded) {}

  // On the current stream, unless one is given.
  std::vector<at::Tensor> run_impl(std::vector<AtenTensorHandle>& inputs, void* stream) override {
    return AOTIModelContainerRunner::run_impl(
        inputs, stream != nullptr ? stream : static_cast<void*>(c10::musa::getCurrentMUSAStream().stream()));
  }
};

std::unique_ptr<torch::inductor::AOTIModelContainerRunner> make_runner(
    const std::string& library, size_t models, const std::string& device, const std::string& kernels, bool single_threaded) {
  return std::make_unique<Runner>(library, models, device, kernels, single_threaded);
}

} // namespace

void add_aoti(pybind11::module_& module) {
  namespace py = pybind11;
  torch::inductor::RegisterAOTIModelRunner("musa", &make_runner);
  auto aoti = module.def_submodule("_aoti");
  using Constants = std::unordered_map<std::string, at::Tensor>;
  py::class_<Runner>(aoti, "AOTIModelContainerRunnerMusa")
      .def(py::init<const std::string&, int>())
      .def(py::init<const std::string&, int, const std::string&>())
      .def(py::init<const std::string&, int, const std::string&, const std::string&>())
      .def("run", &Runner::run, py::arg("inputs"), py::arg("stream_handle") = nullptr)
      .def("get_call_spec", &Runner::get_call_spec)
      .def("get_constant_names_to_original_fqns", &Runner::getConstantNamesToOriginalFQNs)
      .def("get_constant_names_to_dtypes", &Runner::getConstantNamesToDtypes)
      .def("update_constant_buffer", [](Runner& self, Constants& constants, bool inactive, bool complete) {
        self.update_constant_buffer(constants, inactive, complete);
      });
}

} // namespace musasim
