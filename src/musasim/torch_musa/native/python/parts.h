#pragma once

#include <pybind11/pybind11.h>

// Each part of the module adds its names to it.
namespace musasim {

void add_device_functions(pybind11::module_& module);
void add_stream_types(pybind11::module_& module);
void add_memory_functions(pybind11::module_& module);
void add_allocators(pybind11::module_& module);
void add_snapshots(pybind11::module_& module);
void add_recording(pybind11::module_& module);
void add_tensor_functions(pybind11::module_& module);
void add_graph_types(pybind11::module_& module);
void add_graph_tree_functions(pybind11::module_& module);
void add_musart(pybind11::module_& module);
void add_comm_functions(pybind11::module_& module);
void add_ipc_functions(pybind11::module_& module);
void add_process_group(pybind11::module_& module);
void add_aoti(pybind11::module_& module);

void register_place();

void add_raw_functions(pybind11::module_& module, PyMethodDef* methods);

} // namespace musasim
