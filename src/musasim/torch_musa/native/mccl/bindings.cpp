#include "../python/parts.h"

#include "process_group.h"
#include "symmetric_memory.h"

#include <pybind11/chrono.h>
#include <pybind11/stl.h>
#include <torch/csrc/profiler/combined_traceback.h>
#include <torch/csrc/utils/pybind.h>

// PyTorch's own, in a header that newer wheels cannot include without another library's.
namespace torch {
TORCH_API std::vector<pybind11::object> py_symbolize(std::vector<CapturedTraceback*>& to_symbolize);
}

namespace musasim {
namespace py = pybind11;
namespace {

using mccl::ProcessGroupMCCL;
using Options = ProcessGroupMCCL::Options;
using Store = c10::intrusive_ptr<c10d::Store>;
using Milliseconds = std::chrono::milliseconds;

c10::intrusive_ptr<ProcessGroupMCCL> make(const Store& store, int rank, int size, c10::intrusive_ptr<Options> options) {
  const py::gil_scoped_release no_gil; // other ranks may be threads of this process
  return c10::make_intrusive<ProcessGroupMCCL>(store, rank, size, std::move(options));
}

c10::intrusive_ptr<Options> with_timeout(Milliseconds timeout) {
  auto options = c10::make_intrusive<Options>();
  options->timeout = timeout;
  return options;
}

py::list shown(const mccl::Flight::Shapes& shapes, bool types) {
  py::list made;
  for (const auto& [sizes, type] : shapes) {
    types ? made.append(c10::toString(type)) : made.append(sizes);
  }
  return made;
}

py::object frames_of(const mccl::Flight& flight) {
  auto* traceback = dynamic_cast<torch::CapturedTraceback*>(flight.frames.get());
  std::vector<torch::CapturedTraceback*> one{traceback};
  return traceback == nullptr ? py::list() : torch::py_symbolize(one).at(0);
}

py::object time_of(int64_t time) {
  return time == 0 ? py::object(py::none()) : py::cast(time);
}

// As torch's flight recorder shows an operation.
py::dict describe(const mccl::Flight& flight, bool with_frames) {
  const int64_t started = flight.times->started, completed = flight.times->completed;
  py::dict made;
  made["record_id"] = flight.id;
  made["pg_id"] = flight.group;
  made["process_group"] = py::make_tuple(flight.group_name.first, flight.group_name.second);
  made["collective_seq_id"] = flight.collective;
  made["p2p_seq_id"] = flight.message;
  made["op_id"] = flight.operation;
  made["profiling_name"] = flight.title;
  made["time_created_ns"] = flight.created;
  if (completed != 0 && started != 0) {
    made["duration_ms"] = static_cast<double>(completed - started) / 1e6;
  }
  made["input_sizes"] = shown(flight.inputs, false);
  made["input_dtypes"] = shown(flight.inputs, true);
  made["output_sizes"] = shown(flight.outputs, false);
  made["output_dtypes"] = shown(flight.outputs, true);
  made["state"] = completed != 0 ? "completed" : started != 0 ? "started" : "scheduled";
  made["time_discovered_started_ns"] = time_of(started);
  made["time_discovered_completed_ns"] = time_of(completed);
  made["retired"] = completed != 0;
  made["timeout_ms"] = flight.timeout.count();
  made["is_p2p"] = flight.is_message;
  if (with_frames) {
    made["frames"] = frames_of(flight);
  }
  return made;
}

py::list flights(bool with_frames) {
  py::list made;
  for (const auto& flight : mccl::FlightRecorder::get().flights()) {
    made.append(describe(flight, with_frames));
  }
  return made;
}

void pickle_by(const py::function& dump) {
  auto* kept = new py::object(dump); // until the process ends, as the recorder is
  mccl::pickled_flights = [kept] {
    const py::gil_scoped_acquire gil;
    return (*kept)().cast<std::string>();
  };
}

void become_2_9_1(bool is) {
  mccl::Settings::since_2_9_1 = is;
  if (is) {
    mccl::register_symmetric_memory();
    mccl::register_symmetric_operators();
  }
}

c10::intrusive_ptr<Options> copy(const Options& options) {
  return c10::make_intrusive<Options>(options);
}

// What NCCL's header calls them, by their numbers there.
void add_policies(py::object group) {
  const std::pair<const char*, int> policies[] = {
      {"MCCL_CTA_POLICY_DEFAULT", 0}, {"MCCL_CTA_POLICY_EFFICIENCY", 1}, {"MCCL_CTA_POLICY_ZERO", 2}};
  for (const auto& [name, number] : policies) {
    group.attr(name) = number;
  }
}

void add_config(py::object group) {
  using Config = ProcessGroupMCCL::Config;
  py::class_<Config>(group, "MCCLConfig")
      .def(py::init<>())
      .def_readwrite("blocking", &Config::blocking)
      .def_readwrite("cga_cluster_size", &Config::cga_cluster_size)
      .def_readwrite("min_ctas", &Config::min_ctas)
      .def_readwrite("max_ctas", &Config::max_ctas)
      .def_readwrite("cta_policy", &Config::cta_policy)
      .def("__copy__", [](const Config& self) { return Config(self); })
      .def("__deepcopy__", [](const Config& self, const py::dict&) { return Config(self); }, py::arg("memo"));
}

void add_options(py::class_<ProcessGroupMCCL, c10::intrusive_ptr<ProcessGroupMCCL>, c10d::Backend>& group) {
  py::class_<Options, c10::intrusive_ptr<Options>, c10d::Backend::Options>(group, "Options")
      .def(py::init<bool>(), py::arg("is_high_priority_stream") = false)
      .def_readwrite("is_high_priority_stream", &Options::is_high_priority_stream)
      .def_readwrite("config", &Options::config) // of releases from 2.9.1 on
      .def_readwrite("split_from", &Options::split_from)
      .def_readwrite("split_color", &Options::split_color)
      // Of releases from 2.9.1 on.
      .def("__copy__", &copy)
      .def("__deepcopy__", [](const Options& self, const py::dict&) { return copy(self); }, py::arg("memo"))
      .def_readwrite("global_ranks_in_group", &Options::global_ranks_in_group)
      .def_readwrite("group_name", &Options::group_name);
}

} // namespace

void add_process_group(py::module_& module) {
  const py::call_guard<py::gil_scoped_release> no_gil;
  // The classes it derives from are made by PyTorch's own module.
  py::module_::import("torch._C._distributed_c10d");
  py::class_<ProcessGroupMCCL, c10::intrusive_ptr<ProcessGroupMCCL>, c10d::Backend> group(module, "ProcessGroupMCCL");
  add_policies(group);
  add_config(group);
  add_options(group);
  group
      .def(py::init(&make), py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("options"))
      .def(
          py::init([](const Store& store, int rank, int size, Milliseconds timeout) {
            return make(store, rank, size, with_timeout(timeout));
          }),
          py::arg("store"),
          py::arg("rank"),
          py::arg("size"),
          py::arg("timeout") = ProcessGroupMCCL::kDefaultTimeout)
      // For process_group.py, which takes them away: what is wrong is said before the ranks meet, and the end of the process.
      .def_static("_check_environment", [] { mccl::Settings::read(); })
      .def_static("_wait_for_all", &mccl::Lane::wait_for_all, py::arg("longest"), no_gil)
      .def_static("_as_since_2_9_1", &become_2_9_1, py::arg("is"))
      .def_static("_flights", &flights, py::arg("with_frames")) // for flight_recorder.py
      .def_static("_pickle_flights_by", &pickle_by, py::arg("dump"))
      .def_static("_forget_flights", [] { mccl::FlightRecorder::get().reset(); })
      // Of releases from 2.9.1 on; process_group.py takes them away before.
      .def("_comm_ptr", &ProcessGroupMCCL::comm_ptr)
      .def("_start_time_estimate", &ProcessGroupMCCL::start_time_estimate)
      .def("_end_time_estimate", &ProcessGroupMCCL::end_time_estimate)
      .def("register_mem_pool", &ProcessGroupMCCL::register_mem_pool, py::arg("pool"), py::arg("symm") = false)
      .def("deregister_mem_pool", &ProcessGroupMCCL::deregister_mem_pool, py::arg("pool"))
      .def("_set_enable_nan_check", &ProcessGroupMCCL::find_nan, py::arg("enable_nan_check"), no_gil)
      .def("_group_start", &ProcessGroupMCCL::startCoalescing)
      .def("_group_end", [](ProcessGroupMCCL& self) { self.endCoalescing(); })
      .def("comm_split_count", &ProcessGroupMCCL::split_count)
      .def("_set_default_timeout", &ProcessGroupMCCL::setTimeout, py::arg("timeout"), no_gil)
      .def("_add_ephemeral_timeout", &ProcessGroupMCCL::add_ephemeral_timeout, py::arg("timeout"))
      .def("_verify_work_timeout", &ProcessGroupMCCL::has_timeout, py::arg("work"), py::arg("timeout"))
      .def("perform_nocolor_split", [](ProcessGroupMCCL&, at::Device) {}) // torch_musa 2.7.1's is empty: "MCCL has no comm split"
      .def("_is_initialized", &ProcessGroupMCCL::is_initialized, no_gil)
      .def("get_error", &ProcessGroupMCCL::getError, no_gil)
      .def_property_readonly("options", &ProcessGroupMCCL::options)
      .def_property_readonly("uid", &ProcessGroupMCCL::uid)
      .def_property(
          "bound_device_id", &ProcessGroupMCCL::getBoundDeviceId, &ProcessGroupMCCL::setBoundDeviceId);
}

} // namespace musasim
