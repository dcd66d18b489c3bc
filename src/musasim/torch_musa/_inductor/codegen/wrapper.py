"""The Python code that calls the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from torch._inductor.codegen.wrapper import PythonWrapperCodegen, SubgraphPythonWrapperCodegen


class _Launches(PythonWrapperCodegen):
    """Calls each C++ kernel through `launch`, as work of the device."""

    def wrap_kernel_call(self, name: str, call_args: Sequence[str]) -> str:
        """The source of one call."""
        return f"launch({', '.join([name, *call_args])})"

    # torch 2.13's name of the function that torch 2.7 calls generate_kernel_call.
    def _generate_kernel_call_helper(
        self, kernel_name: str, call_args: Any, *, triton: bool = True, **kwargs: Any
    ) -> None:
        if triton:
            super()._generate_kernel_call_helper(kernel_name, call_args, triton=triton, **kwargs)
        else:
            self.writeline(self.wrap_kernel_call(kernel_name, call_args))  # type: ignore[no-untyped-call]

    if not hasattr(PythonWrapperCodegen, "_generate_kernel_call_helper"):

        def generate_kernel_call(self, kernel_name: str, call_args: Any, *, triton: bool = True, **kwargs: Any) -> None:
            """Write one call of a kernel."""
            if triton:
                super().generate_kernel_call(kernel_name, call_args, triton=triton, **kwargs)
            else:
                self.writeline(self.wrap_kernel_call(kernel_name, call_args))  # type: ignore[no-untyped-call]


class MUSAPythonWrapperCodegen(_Launches):
    """The wrapper of a graph."""

    @staticmethod
    def create(is_subgraph: bool, subgraph_name: Any, parent_wrapper: Any, *signatures: Any) -> PythonWrapperCodegen:
        """Create a wrapper for a whole graph, or for a part of it that has its own function."""
        if is_subgraph:
            return _MUSASubgraphPythonWrapperCodegen(subgraph_name, parent_wrapper, *signatures)
        return MUSAPythonWrapperCodegen()  # type: ignore[no-untyped-call]

    def write_header(self) -> None:
        """The imports of the generated module."""
        super().write_header()
        self.imports.writeline("from torch_musa._inductor.launch import launch")


class _MUSASubgraphPythonWrapperCodegen(_Launches, SubgraphPythonWrapperCodegen):
    """The wrapper of a part of a graph."""


class _Allocates(PythonWrapperCodegen):
    """Allocates by the backend's function for it, as the vendor's code does. It takes no device, and so is quicker than torch's."""

    def make_allocation(self, name: str, device: Any, *described: Any, **options: Any) -> str:
        """The source of one allocation."""
        line: str = super().make_allocation(name, device, *described, **options)  # type: ignore[no-untyped-call]
        if device.type != "musa":
            return line
        return line.replace(" = empty_strided(", " = empty_strided_musa(", 1).replace("device='musa', dtype=", "", 1)


class MUSATritonWrapperCodegen(_Allocates):
    """The wrapper of a graph whose kernels are Triton's."""

    @staticmethod
    def create(is_subgraph: bool, subgraph_name: Any, parent_wrapper: Any, *signatures: Any) -> PythonWrapperCodegen:
        """Create a wrapper for a whole graph, or for a part of it that has its own function."""
        if is_subgraph:
            return _MUSATritonSubgraphWrapperCodegen(subgraph_name, parent_wrapper, *signatures)
        return MUSATritonWrapperCodegen()  # type: ignore[no-untyped-call]

    def write_header(self) -> None:
        """The imports of the generated module."""
        super().write_header()
        self.imports.writeline("from torch_musa._MUSAC import _empty_strided_musa as empty_strided_musa")


class _MUSATritonSubgraphWrapperCodegen(_Allocates, SubgraphPythonWrapperCodegen):
    """The wrapper of a part of a graph."""


class RefusedCppWrapper(PythonWrapperCodegen):
    """In the place of a wrapper in C++ for Triton's kernels: it refuses, in the words of who asked for one."""

    @staticmethod
    def create(is_subgraph: bool, subgraph_name: Any, parent_wrapper: Any, *signatures: Any) -> NoReturn:
        """Refuse."""
        raise NotImplementedError(
            "musasim has no wrapper in C++ for Inductor's Triton kernels (torch._inductor.config.cpp_wrapper, "
            "TORCHINDUCTOR_CPP_WRAPPER, AOTInductor): it launches binaries of kernels, and the simulator makes none, because it "
            "interprets their Python source. Leave out MUSASIM_INDUCTOR=triton: the kernels are C++ then, and have such a wrapper"
        )
