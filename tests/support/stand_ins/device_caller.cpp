// A library that parses device strings as C++ code built against PyTorch does: through a slot of its own.
#include <c10/core/Device.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

// Writes c10::Device(name).str(), or the first line of what was thrown, into `answer` (128 bytes).
extern "C" void parse(const char* name, char* answer) {
  std::string text;
  try {
    text = c10::Device(std::string(name)).str();
  } catch (const std::exception& error) {
    text = error.what();
  }
  std::strncpy(answer, text.substr(0, text.find('\n')).c_str(), 127);
}

// Parses and counts until `stop` is set; returns how many answers were neither CUDA's device nor the one in its place.
extern "C" long misread(const volatile int* stop, long* count) {
  long wrong = 0;
  for (; !*stop; ++*count) {
    const c10::Device device(std::string("cuda:1"));
    wrong += !(device.is_cuda() || device.is_privateuseone()) || device.index() != 1;
    wrong += !c10::Device(std::string("cpu")).is_cpu();
    if (*count % 64 == 0) {
      char answer[128] = {};
      parse("cuda:x", answer);
      wrong += std::strcmp(answer, "Invalid device string: 'cuda:x'") != 0;
    }
  }
  return wrong;
}

#ifdef EXPORTS_NOTHING
// It exports no symbols, so when it is loaded it writes where its function is, and what it has parsed by then, to variables.
__attribute__((constructor)) static void loaded() {
  char answer[128] = {};
  parse("cuda:1", answer);
  setenv("PARSED_ON_LOADING", answer, 1);
  setenv("PARSE_ADDRESS", std::to_string(reinterpret_cast<size_t>(&parse)).c_str(), 1);
}
#else
#include <Python.h>

static PyObject* parse_in_module(PyObject*, PyObject* name) {
  char answer[128] = {};
  parse(PyBytes_AsString(name), answer);
  return PyUnicode_FromString(answer);
}

static PyMethodDef functions[] = {{"parse", parse_in_module, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "device_caller", nullptr, -1, functions};

PyMODINIT_FUNC PyInit_device_caller() {
  return PyModule_Create(&module);
}
#endif
