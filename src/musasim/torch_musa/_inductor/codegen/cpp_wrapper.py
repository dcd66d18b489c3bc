"""The C++ code that calls the kernels: for AOTInductor, and for torch.compile with `cpp_wrapper`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._inductor.codegen.cpp_wrapper_cpu import CppWrapperCpu
from torch._inductor.virtualized import V

from .device_op_overrides import MUSADeviceOpOverrides

# A kernel is a function of C++ in the same library. The runtime launches it like one of mcc's, of one thread, so that streams wait
# for it, graphs capture it, profiles show it and a device that has failed does not run it.
_LAUNCH = """
#include <musasim/engine.h>

namespace musasim {
template <auto Kernel, typename... Arguments>
void launch(const char* name, Arguments... arguments) {
  auto call = [=] { Kernel(arguments...); };
  using Call = decltype(call);
  static musasim_kernel kernel{name, 0, 0, "10 20 30 40 50", nullptr, 0, 0, 0};
  static const musasim_closure closure{
      [](const void* data) { (*static_cast<const Call*>(data))(); },
      [](const void* data) -> void* { return new Call(*static_cast<const Call*>(data)); },
      [](void* data) { delete static_cast<Call*>(data); }};
  const unsigned int one[3] = {1, 1, 1};
  int device = 0;
  void* stream = nullptr;
  musaGetDevice(&device);
  AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_musa_stream(device, &stream));
  musasim_configure(one, one, 0, static_cast<musaStream_t>(stream));
  musasim_launch(&kernel, &call, &closure);
  if (const auto error = musaGetLastError()) {
    throw std::runtime_error(std::string("MUSA error: ") + musaGetErrorString(error));
  }
}
} // namespace musasim
"""
# PyTorch's own source, which torch_musa changes in a file of its own.
_DEVICE_OF_A_CONTAINER = ('is_cpu ? "cpu" : "cuda"', 'is_cpu ? "cpu" : "musa"')


class _CppKernels(MUSADeviceOpOverrides):
    """Kernels that are functions of the library are not loaded from binaries."""

    def cpp_kernel_type(self) -> str:
        return "void*"


class MUSACppWrapper(CppWrapperCpu):
    """The wrapper of a graph whose kernels are C++, and which PyTorch's C functions call operators for."""

    def __init__(self) -> None:
        self.device = "musa"
        super().__init__()  # type: ignore[no-untyped-call]
        self.device_codegen = _CppKernels()
        self.needs_vec_isa = True  # the kernels are the CPU's
        self._on = torch.device(self.device)  # where the kernel runs that is called next

    @staticmethod
    def create(is_subgraph: bool, subgraph_name: Any, parent_wrapper: Any, *signatures: Any) -> MUSACppWrapper:
        """Create a wrapper for a whole graph, or for a part of it, as PyTorch's for the CPU."""
        return MUSACppWrapper()

    def write_header(self) -> None:
        """What stands before the generated functions."""
        super().write_header()  # type: ignore[no-untyped-call]
        if V.graph.is_const_graph:
            return
        lines: list[Any] = self.header._lines
        lines[:] = [line.replace(*_DEVICE_OF_A_CONTAINER) if isinstance(line, str) else line for line in lines]
        self.header.splice(_LAUNCH)

    def wrap_kernel_call(self, name: str, call_args: Sequence[str]) -> str:
        """The source of one call: of a kernel, or of an operator's C function."""
        if self._on.type != "musa" or name.startswith("aoti_torch_") or not name.isidentifier():
            return super().wrap_kernel_call(name, call_args)  # type: ignore[no-untyped-call,no-any-return]
        arguments = ", ".join([f'"{name}"', *call_args])
        return f"musasim::launch<{name}>({arguments});"

    # torch 2.13's name of the function that torch 2.7 calls generate_kernel_call.
    def _generate_kernel_call_helper(
        self, kernel_name: str, call_args: Any, *, device: torch.device | None = None, **kwargs: Any
    ) -> None:
        self._on = device or V.graph.get_current_device_or_throw()
        super()._generate_kernel_call_helper(kernel_name, call_args, device=device, **kwargs)

    if not hasattr(CppWrapperCpu, "_generate_kernel_call_helper"):

        def generate_kernel_call(
            self, kernel_name: str, call_args: Any, *, device: torch.device | None = None, **kwargs: Any
        ) -> None:
            """Write one call of a kernel."""
            self._on = device or V.graph.get_current_device_or_throw()
            super().generate_kernel_call(kernel_name, call_args, device=device, **kwargs)
