"""The driver's graph and its executable, which the adapter's graph objects hold and no method of theirs separates.

torch_musa's class begins with them: the handle of what was captured, the handle of the executable, and a flag for each. The objects
are pybind11's, whose pointer to the C++ object is kept behind Python's own header. Nothing is changed in an object before its
members were seen to be empty before its capture and full after it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchada.areas.cuda._graph_types import Graph

_HEADER = object.__basicsize__


class Members(ctypes.Structure):
    """The first members of the C++ object."""

    _fields_ = (
        ("graph", ctypes.c_void_p),
        ("executable", ctypes.c_void_p),
        ("has_graph", ctypes.c_uint8),
        ("has_executable", ctypes.c_uint8),
    )
    graph: int | None
    executable: int | None
    has_graph: int
    has_executable: int

    @property
    def is_empty(self) -> bool:
        return not (self.graph or self.executable or self.has_graph or self.has_executable)

    @property
    def is_full(self) -> bool:
        return bool(self.graph and self.executable) and self.has_graph == 1 and self.has_executable == 1

    @property
    def is_given_up(self) -> bool:
        return bool(self.graph) and self.has_graph == 1 and not self.executable and self.has_executable == 0


def members(graph: Graph) -> Members | None:
    """The members of `graph`; None where its object is not laid out as pybind11 lays out objects with one holder."""
    value, holder = (ctypes.c_void_p * 2).from_address(id(graph) + _HEADER)
    return Members.from_address(value) if value and value == holder else None


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
            held.executable, held.has_executable = None, 0
        return error

    def instantiate(self, held: Members) -> int:
        """Make the executable again. The runtime's error, or 0."""
        made = ctypes.c_void_p()
        error = int(self._instantiate(ctypes.byref(made), held.graph, None, None, 0))
        if not error:
            held.executable, held.has_executable = made.value, 1
        return error
