"""Stands in for the graph classes of torch_musa's releases: objects in memory that is laid out as a test wants it.

Each method reads and writes that memory in the order of torch_musa's MUSAGraph.cpp: of 2.7.1, or of 2.9.1.post1 where a layout
has a place for capture_ended. The driver is stood in for by dictionaries of handles.
"""

from __future__ import annotations

import ctypes
import itertools
import random
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

SIZE = 24


class Places(NamedTuple):
    """The byte at which each member begins."""

    graph: int = 0
    executable: int = 8
    has_graph: int = 16
    has_executable: int = 17
    capture_ended: int | None = None


OLD = Places()
NEW = Places(has_executable=18, capture_ended=17)


class Runtime:
    """The driver's two functions, which torchada looks up by name."""

    def __init__(self) -> None:
        self._numbers = itertools.count(0x1000, 16)
        self.graphs: set[int] = set()
        self.executables: dict[int, int] = {}  # and the graphs that they were made from
        self.most = 0

    def __getitem__(self, name: str) -> Callable[..., int]:
        def instantiate(made: Any, graph: int, *_: object) -> int:
            made._obj.value = self.instantiate(graph)
            return 0

        def destroy(executable: int) -> int:
            return 1 if self.executables.pop(executable, None) is None else 0

        return {"musaGraphInstantiate": instantiate, "musaGraphExecDestroy": destroy}[name]

    def record(self) -> int:
        handle = next(self._numbers)
        self.graphs.add(handle)
        return handle

    def instantiate(self, graph: int) -> int:
        assert graph in self.graphs, "not a handle of a graph"
        handle = next(self._numbers)
        self.executables[handle] = graph
        self.most = max(self.most, len(self.executables))
        return handle


def graph_class(
    runtime: Runtime, places: Places = OLD, *, keeps: bool = False, raw: bool = False, seed: int = 0
) -> type:
    """A class whose objects are laid out by `places`; `keeps`: it takes keep_graph; `raw`: it tells handles."""
    namespace: dict[str, Any] = {"_runtime": runtime, "_places": places, "_unused": random.Random(seed)}
    bases = (_Keeping if keeps else _Graph,)
    return type("MUSAGraph", (_Raw, *bases) if raw else bases, namespace)


# A complex number has two words behind Python's header, where pybind11's objects have the pointer to the C++ object and its holder.
class _Graph(complex):
    _runtime: Runtime
    _places: Places
    _unused: random.Random
    _keep_graph = False

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __new__(cls) -> Any:
        return cls._made()

    @classmethod
    def _made(cls) -> Any:
        memory = (ctypes.c_uint8 * SIZE)(*cls._unused.randbytes(SIZE))
        word = struct.unpack("d", struct.pack("Q", ctypes.addressof(memory)))[0]
        self = complex.__new__(cls, word, word)
        self._memory = memory
        self._set(graph=0, executable=0, has_graph=0, has_executable=0, capture_ended=0)
        return self

    def _set(self, **values: int) -> None:
        for name, value in values.items():
            place = getattr(self._places, name)
            if place is not None:
                size = 8 if name in ("graph", "executable") else 1
                self._memory[place : place + size] = list(value.to_bytes(size, "little"))

    def _get(self, name: str) -> int:
        place = getattr(self._places, name)
        size = 8 if name in ("graph", "executable") else 1
        return int.from_bytes(bytes(self._memory[place : place + size]), "little")

    def _require(self, name: str, message: str) -> None:
        if not self._get(name):
            raise RuntimeError(message)

    @property
    def _success(self) -> str:
        return "has_executable" if self._places.capture_ended is None else "capture_ended"

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        if self._get("has_executable"):
            raise RuntimeError("This MUSAGraph instance already owns a captured graph.")

    def capture_end(self) -> None:
        self._set(graph=self._runtime.record(), has_graph=1, capture_ended=1)
        if not self._keep_graph:
            self._make()

    def _make(self) -> None:
        self._set(executable=self._runtime.instantiate(self._get("graph")), has_executable=1)

    def _destroy(self) -> None:
        del self._runtime.executables[self._get("executable")]
        self._set(executable=0, has_executable=0)

    def reinstantiate_graph(self) -> None:
        self._require("has_graph", "The graph_ and graph_exec_ musa have been created in the graph capture stage")
        if self._places.capture_ended is None:
            self._require(
                "has_executable", "The graph_ and graph_exec_ musa have been created in the graph capture stage"
            )
        if self._get("has_executable"):
            self._destroy()
        self._make()

    def replay(self) -> None:
        self._require(self._success, "Called MUSAGraph::replay without a preceding successful capture.")
        if not self._get("has_executable"):
            if not self._keep_graph:
                raise RuntimeError("INTERNAL ASSERT FAILED: keep_graph_")
            self._make()
        assert self._runtime.executables[self._get("executable")] == self._get("graph")

    def pool(self) -> tuple[int, int]:
        self._require(self._success, "Called MUSAGraph::pool() without a preceding successful capture.")
        return (0, 1)

    def reset(self) -> None:
        self._set(capture_ended=0)
        if self._get("has_graph"):
            self._runtime.graphs.remove(self._get("graph"))
            self._set(graph=0, has_graph=0)
        if self._get("has_executable"):
            self._destroy()

    def debug_dump(self, debug_path: str) -> None:
        self._runtime.graphs.remove(self._get("graph"))
        if self._places.capture_ended is not None:
            self._set(has_graph=0)


class _Keeping(_Graph):
    def __new__(cls, keep_graph: bool = False) -> Any:
        self = cls._made()
        self._keep_graph = keep_graph
        return self

    def __init__(self, keep_graph: bool = False) -> None:
        pass

    def instantiate(self) -> None:
        self._require("has_graph", "capture_end() must have been called before calling instantiate")
        if self._get("has_executable"):
            if not self._keep_graph:
                raise RuntimeError("instantiate() is intended to be called by the user only when keep_graph=true")
            self._destroy()
        self._make()


class _Raw(_Graph):
    def raw_musa_graph(self) -> int:
        if not self._keep_graph:
            raise RuntimeError("You cannot access the raw musaGraph_t instance")
        self._require("has_graph", "You cannot access the raw musaGraph_t instance until capture_end() has been called")
        return self._get("graph")

    def raw_musa_graph_exec(self) -> int:
        self._require("has_executable", "You cannot access the raw musaGraphExec_t instance")
        return self._get("executable")
