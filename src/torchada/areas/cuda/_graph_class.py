"""Methods for a backend's graph class, CUDA code's torch.cuda.CUDAGraph: what it lacks, and what a capture does besides.

A replay is the hot call and stays the backend's own: only a graph that checks its inputs gets another one, on the instance.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from torchada._warnings import warn

Method = Callable[..., Any]


def takes(function: Method, parameter: str) -> bool:
    """Whether `function` has `parameter`: newer adapters have some that older ones lack."""
    return parameter in signature(function).parameters


class Construction:
    """`CUDAGraph(keep_graph=False)` for a class without that argument.

    The backend makes the executable when the capture ends, and keeps the recording in any case; so what is left of `keep_graph`
    is whether instantiate() may be called.
    """

    def __init__(self, graph: Any) -> None:
        self._new, self._init, self._again = graph.__new__, graph.__init__, graph.reinstantiate_graph

    def methods(self) -> dict[str, Any]:
        new, init, again = self._new, self._init, self._again

        def __new__(cls: type, keep_graph: bool = False) -> Any:
            instance = new(cls)
            if keep_graph:
                instance._torchada_keep_graph = True
            return instance

        def __init__(self: Any, keep_graph: bool = False) -> None:
            init(self)

        def instantiate(self: Any) -> None:
            if not getattr(self, "_torchada_keep_graph", False):
                raise RuntimeError("instantiate() is intended to be called by the user only when keep_graph=true")
            again(self)

        return {"__new__": staticmethod(__new__), "__init__": __init__, "instantiate": instantiate}


class InputCheck:
    """`check_input_liveness`: torch's own tracker notes what a capture reads, and each replay asks whether it is still there."""

    def __init__(self, torch: Any, replay: Method) -> None:
        self._torch, self._replay = torch, replay

    def start(self, graph: Any) -> None:
        """Track the capture that has just begun."""
        from importlib import import_module

        tracker = import_module(f"{self._torch.__name__}.utils._cuda_debug")._CUDAGraphInputLivenessTracker()
        graph._torchada_tracker = tracker
        graph.replay = _checked_replay(weakref.ref(graph), tracker, self._replay)
        tracker.start()

    @staticmethod
    def stop(graph: Any) -> None:
        """The capture has ended."""
        tracker = getattr(graph, "_torchada_tracker", None)
        if tracker is not None:
            tracker.stop()

    def forget(self, graph: Any) -> None:
        """The recording is thrown away."""
        self.stop(graph)
        vars(graph).pop("_torchada_tracker", None)
        vars(graph).pop("replay", None)


def _checked_replay(graph: weakref.ref[Any], tracker: Any, replay: Method) -> Method:
    def checked() -> None:
        alive: Any = graph()  # weak, for the graph holds this function
        tracker.check_alive(alive.pool())
        replay(alive)

    return checked


class Dumps:
    """A file for each capture, graph_<nanoseconds>.dot, in `folder`; None: no files."""

    def __init__(self, folder: str | None) -> None:
        self._folder = self._made(folder) if folder else None

    @staticmethod
    def _made(folder: str) -> Path | None:
        try:
            path = Path(folder)
            path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            warn(f"torchada: graphs cannot be dumped to {folder}: {problem}")
            return None
        return path

    def prepare(self, graph: Any) -> None:
        """Before the capture: the backend keeps what a dump needs in debug mode only."""
        if self._folder is not None:
            graph.enable_debug_mode()

    def write(self, graph: Any) -> None:
        """After the capture."""
        if self._folder is not None:
            graph.debug_dump(os.fspath(self._folder / f"graph_{time.time_ns()}.dot"))


class Executables:
    """The graphs that hold an executable, for drivers that allow only so many: the failure beyond that says nothing of it."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._alive: weakref.WeakSet[Any] = weakref.WeakSet()

    def add(self, graph: Any) -> None:
        self._alive.add(graph)

    def remove(self, graph: Any) -> None:
        self._alive.discard(graph)

    def explain(self, failure: RuntimeError) -> RuntimeError:
        """`failure` of a capture, or an error that tells the likely cause and what to do."""
        count = len(self._alive)
        # The driver's own figure is near the documented one, and not the same on all.
        if self._limit is None or count < self._limit * 0.9:
            return failure
        return RuntimeError(
            f"The capture of a graph has failed while {count} captured graphs are alive in this process, and the driver "
            f"allows about {self._limit} executable ones. Drop or reset() graphs that are not needed any more, or capture "
            "fewer: fewer batch sizes, or larger pieces of the model. A graph cannot be kept without its executable, for the "
            "adapter has no call that releases one alone."
        )


def capture_methods(
    graph: type, native_liveness: bool, inputs: InputCheck, parts: SimpleNamespace
) -> dict[str, Method]:
    """capture_begin, capture_end and reset that do the rest besides; `parts` has `dumps` and `executables`."""
    begin, end, reset = (getattr(graph, name) for name in ("capture_begin", "capture_end", "reset"))
    dumps: Dumps = parts.dumps
    executables: Executables = parts.executables

    def capture_begin(self: Any, *args: Any, **kwargs: Any) -> None:
        check = False
        if not native_liveness:
            check = kwargs.pop("check_input_liveness", args[2] if len(args) > 2 else False)
            args = args[:2]
        dumps.prepare(self)
        begin(self, *args, **kwargs)
        if check:
            inputs.start(self)

    def capture_end(self: Any) -> None:
        inputs.stop(self)
        try:
            end(self)
        except RuntimeError as failure:
            explained = executables.explain(failure)
            if explained is failure:
                raise
            raise explained from failure
        executables.add(self)
        dumps.write(self)

    def reset_(self: Any) -> None:
        inputs.forget(self)
        executables.remove(self)
        reset(self)

    return {"capture_begin": capture_begin, "capture_end": capture_end, "reset": reset_}
