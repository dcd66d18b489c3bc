#include "signals.h"

#include <Python.h>
#include <c10/util/Exception.h>
#include <pybind11/pybind11.h>

#include <csignal>
#include <optional>
#include <thread>

namespace musasim::mccl {
namespace {

using Milliseconds = std::chrono::milliseconds;

bool exchange(uint32_t* place, uint32_t from, uint32_t to) {
  return __atomic_compare_exchange_n(place, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

// Ctrl-C ends the wait, as it ends any other of Python's.
void look_for_interrupts() {
  const pybind11::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) {
    throw pybind11::error_already_set();
  }
}

bool change(uint32_t* place, uint32_t from, uint32_t to, Milliseconds timeout) {
  if (exchange(place, from, to)) {
    return true;
  }
  std::optional<pybind11::gil_scoped_release> no_gil; // other ranks may be threads of this process
  const bool is_python = PyGILState_Check() != 0;
  if (is_python) {
    no_gil.emplace();
  }
  const auto begin = std::chrono::steady_clock::now();
  for (int turn = 1; !exchange(place, from, to); ++turn) {
    if (timeout.count() != 0 && std::chrono::steady_clock::now() - begin > timeout) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(turn < 100 ? 20 : 500));
    if (is_python && turn % 200 == 0) {
      look_for_interrupts();
    }
  }
  return true;
}

} // namespace

bool put_signal(uint32_t* place, Milliseconds timeout) {
  return change(place, 0, 1, timeout);
}

bool take_signal(uint32_t* place, Milliseconds timeout) {
  return change(place, 1, 0, timeout);
}

} // namespace musasim::mccl
