#include <torch/csrc/stable/library.h>

#include "operators.h"

#include <Python.h>

STABLE_TORCH_LIBRARY(torchada_stable_test, m) {
  m.def("negate(Tensor! out, Tensor x) -> ()");
  m.def("scaled(Tensor x, float factor, Tensor? added=None) -> Tensor");
  m.def("description(Tensor x, bool with_sizes) -> (Tensor, int)");
  m.def("handle_follows_streams(Tensor x) -> bool");
}

STABLE_TORCH_LIBRARY_IMPL(torchada_stable_test, CUDA, m) {
  m.impl("negate", TORCH_BOX(&negate));
  m.impl("scaled", TORCH_BOX(&scaled));
  m.impl("description", TORCH_BOX(&description));
  m.impl("handle_follows_streams", TORCH_BOX(&handle_follows_streams));
}

extern "C" PyObject* PyInit_stable() {
  static PyModuleDef module = {PyModuleDef_HEAD_INIT, "stable", nullptr, -1, nullptr};
  return PyModule_Create(&module);
}
