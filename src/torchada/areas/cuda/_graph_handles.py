"""The driver's functions for executables, and the memory of the adapter's graph objects, which holds their handles.

The objects are pybind11's, whose pointer to the C++ object is kept behind Python's own header.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchada.areas.cuda._graph_layouts import Members
    from torchada.areas.cuda._graph_types import Graph

_HEADER = object.__basicsize__


def address(graph: Graph) -> int | None:
    """Where the C++ object of `graph` is; None where it is not kept as pybind11 keeps an object with one holder."""
    value, holder = (ctypes.c_void_p * 2).from_address(id(graph) + _HEADER)
    return value if value and value == holder else None


class Driver:
    """The runtime's functions for executables. `symbol` tells the runtime's name for a function of CUDA's."""

    def __init__(self, runtime: ctypes.CDLL, symbol: Callable[[str], str]) -> None:
        pointer = ctypes.c_void_p
        self._instantiate = runtime[symbol("cudaGraphInstantiate")]
        self._destroy = runtime[symbol("cudaGraphExecDestroy")]
        # Five arguments are what torch_musa gives. Where the function takes three, the third is a set of flags, and 0 as well.
        self._instantiate.argtypes = [ctypes.POINTER(pointer), pointer, pointer, pointer, ctypes.c_size_t]
        self._destroy.argtypes = [pointer]

    def give_up(self, held: Members) -> int:
        """Destroy the executable and keep what was captured. The runtime's error, or 0."""
        error = int(self._destroy(held.executable))
        if not error:
            held.set_executable(None)
        return error

    def instantiate(self, held: Members) -> int:
        """Make the executable again. The runtime's error, or 0."""
        made = ctypes.c_void_p()
        error = int(self._instantiate(ctypes.byref(made), held.graph, None, None, 0))
        if not error:
            held.set_executable(made.value)
        return error
