#include "parts.h"

#include "../ops/alias.h"
#include "../ops/later_operators.h"
#include "../runtime/allocator.h"
#include "../runtime/device.h"
#include "../runtime/guard.h"
#include "../runtime/hooks.h"
#include "../runtime/launches.h"
#include "../runtime/host_allocator.h"
#include "../runtime/profiler.h"
#include "../runtime/release.h"

#include <torch/csrc/Exceptions.h>

namespace {

// PyTorch's errors (OutOfMemoryError, NotImplementedError, ...) keep their types on the way to Python.
void translate(std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (pybind11::error_already_set&) {
    throw;
  } catch (pybind11::builtin_exception&) {
    throw;
  } catch (const std::exception&) {
    torch::translate_exception_to_python(error);
  }
}

// Says which release is simulated, and adds what depends on it.
void simulate(pybind11::module_ module, int release) {
  musasim::simulated_release() = static_cast<musasim::Release>(release);
  musasim::register_later_operators();
  musasim::add_recording(module);
}

} // namespace

PYBIND11_MODULE(_MUSAC, module) {
  pybind11::register_local_exception_translator(&translate);
  c10::SetAllocator(musasim::kMusa, musasim::device_allocator());
  musasim::register_cpu_allocator();
  musasim::register_host_allocator();
  musasim::register_guard();
  musasim::register_hooks();
  musasim::register_profiler();
  musasim::register_launches();
  musasim::register_place();
  musasim::register_tensor_memory();
  musasim::add_device_functions(module);
  musasim::add_stream_types(module);
  musasim::add_memory_functions(module);
  musasim::add_tensor_functions(module);
  musasim::add_graph_types(module);
  musasim::add_graph_tree_functions(module);
  musasim::add_musart(module);
  musasim::add_comm_functions(module);
  musasim::add_ipc_functions(module);
  musasim::add_process_group(module);
  musasim::add_aoti(module);
  module.def("_musasim_simulate", [module](int release) { simulate(module, release); });
}
