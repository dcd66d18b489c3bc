// Where a program is, in Python: the innermost line that is neither PyTorch's nor that of a package which stands between it and PyTorch.
#include "parts.h"

#include "musart/driver.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace musasim {
namespace py = pybind11;
namespace {

constexpr std::array<std::string_view, 4> kBetween = {"torch", "torch_musa", "musasim", "torchada"};

std::string line_of(const py::object& frame) {
  return frame.attr("f_code").attr("co_filename").cast<std::string>() + ":" + py::str(frame.attr("f_lineno")).cast<std::string>();
}

bool is_between(const py::object& frame) {
  const py::dict globals = frame.attr("f_globals");
  const auto name = globals.contains("__name__") ? py::str(globals["__name__"]).cast<std::string>() : std::string();
  const auto package = name.substr(0, name.find('.'));
  return std::find(kBetween.begin(), kBetween.end(), package) != kBetween.end();
}

std::string innermost_line() {
  const auto innermost = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  for (py::object frame = innermost; frame && !frame.is_none(); frame = frame.attr("f_back")) {
    if (!is_between(frame)) {
      return line_of(frame);
    }
  }
  return innermost ? line_of(innermost) : "";
}

// A thread without a state of Python's, such as one that computes a part of an operator, is nowhere; and it must not wait for Python's
// lock, because the thread that waits for it may hold that.
std::string python_place() {
  if (Py_IsInitialized() == 0 || PyGILState_GetThisThreadState() == nullptr) {
    return {};
  }
  const py::gil_scoped_acquire lock;
  const py::error_scope error_of_the_program;
  return innermost_line();
}

} // namespace

void register_place() {
  musart::streamcheck::program_place = &python_place;
}

} // namespace musasim
