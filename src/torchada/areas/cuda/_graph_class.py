"""Methods for the backend's graph class, torch.cuda.CUDAGraph in CUDA code: what it lacks, and what a capture also does.

Programs replay graphs often. A graph that checks its inputs gets a `replay` of its own, on the instance.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from torchada.areas.cuda._signatures import Method, takes
from torchada.base.warnings import warn

if TYPE_CHECKING:
    from types import ModuleType

    from torchada.areas.cuda._graph_pools import Pools
    from torchada.areas.cuda._graph_rotation import Rotation
    from torchada.areas.cuda._graph_types import Graph, Tracker


class Construction:
    """`CUDAGraph(keep_graph=False)` for a class without that argument.

    The backend makes the executable when the capture ends, and keeps the recording in any case. So `keep_graph` only decides
    whether instantiate() may be called.
    """

    def __init__(self, graph: Any, again: Method) -> None:
        self._new, self._init, self._again = graph.__new__, graph.__init__, again

    def methods(self) -> dict[str, object]:
        new, init, again = self._new, self._init, self._again

        def __new__(cls: type, keep_graph: bool = False) -> object:
            instance = new(cls)
            if keep_graph:
                instance._torchada_keep_graph = True
            return instance

        def __init__(self: object, keep_graph: bool = False) -> None:
            init(self)

        def instantiate(self: object) -> None:
            if not getattr(self, "_torchada_keep_graph", False):
                raise RuntimeError("instantiate() is intended to be called by the user only when keep_graph=true")
            again(self)

        return {"__new__": staticmethod(__new__), "__init__": __init__, "instantiate": instantiate}


class InputCheck:
    """`check_input_liveness`: torch's own tracker records what a capture reads, and each replay checks that it still exists."""

    def __init__(self, torch: ModuleType, replay: Method) -> None:
        self._torch, self._replay = torch, replay

    def start(self, graph: Graph) -> None:
        """Track the capture that has just begun."""
        from importlib import import_module

        tracker = import_module(f"{self._torch.__name__}.utils._cuda_debug")._CUDAGraphInputLivenessTracker()
        graph._torchada_tracker = tracker
        graph.replay = _checked_replay(weakref.ref(graph), tracker, self._replay)
        tracker.start()

    @staticmethod
    def stop(graph: Graph) -> None:
        """The capture has ended."""
        tracker = getattr(graph, "_torchada_tracker", None)
        if tracker is not None:
            tracker.stop()

    def forget(self, graph: Graph) -> None:
        """The recording is discarded."""
        self.stop(graph)
        vars(graph).pop("_torchada_tracker", None)
        vars(graph).pop("replay", None)


def _checked_replay(graph: weakref.ref[Graph], tracker: Tracker, replay: Method) -> Callable[[], None]:
    def checked() -> None:
        alive = graph()  # weak, because the graph holds this function
        assert alive is not None
        tracker.check_alive(alive.pool())
        replay(alive)

    return checked


class Dumps:
    """Writes a file graph_<nanoseconds>.dot for each capture to `folder`; nothing if that is None."""

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

    def prepare(self, graph: Graph) -> None:
        """Called before the capture: only in debug mode the backend keeps what a dump needs."""
        if self._folder is not None:
            graph.enable_debug_mode()

    def write(self, graph: Graph) -> None:
        """Called after the capture."""
        if self._folder is not None:
            graph.debug_dump(os.fspath(self._folder / f"graph_{time.time_ns()}.dot"))


class Executables:
    """The graphs that hold an executable. Some drivers limit their number, and their error beyond it does not name the cause."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._alive: weakref.WeakSet[Graph] = weakref.WeakSet()

    def add(self, graph: Graph) -> None:
        self._alive.add(graph)

    def remove(self, graph: Graph) -> None:
        self._alive.discard(graph)

    def explain(self, failure: RuntimeError) -> RuntimeError:
        """`failure` of a capture, or an error that names the likely cause and what to do."""
        count = len(self._alive)
        # The real limit is near the documented one, and differs between drivers.
        if self._limit is None or count < self._limit * 0.9:
            return failure
        return RuntimeError(
            f"The capture of a graph has failed while {count} captured graphs are alive in this process, and the driver "
            f"allows about {self._limit} executable ones. Drop or reset() graphs that are not needed any more, or capture "
            "fewer: fewer batch sizes, or larger pieces of the model. TORCHADA_GRAPH_EXEC_CAP lets torchada give up executables "
            "beyond a number, and make them again when they are replayed, unless TORCHADA_GRAPH_ROTATION=0 is set."
        )


def capture_methods(
    graph: type, native_liveness: bool, inputs: InputCheck, parts: SimpleNamespace
) -> dict[str, Method]:
    """capture_begin, capture_end and reset with these additions; `parts` has the fields of graphs._captures."""
    begin, end, reset = (getattr(graph, name) for name in ("capture_begin", "capture_end", "reset"))
    dumps: Dumps = parts.dumps
    executables: Executables = parts.executables
    rotation: Rotation | None = parts.rotation
    pools: Pools | None = parts.pools

    def capture_begin(self: Graph, *args: object, **kwargs: object) -> None:
        check: object = False
        if not native_liveness:
            check = kwargs.pop("check_input_liveness", args[2] if len(args) > 2 else False)
            args = args[:2]
        dumps.prepare(self)
        if rotation is not None:
            rotation.before_capture(self)
        begin(self, *args, **kwargs)
        if check:
            inputs.start(self)

    def capture_end(self: Graph) -> None:
        inputs.stop(self)
        try:
            end(self)
        except RuntimeError as failure:
            explained = executables.explain(failure)
            if explained is failure:
                raise
            raise explained from failure
        executables.add(self)
        if pools is not None:
            pools.taken(self, parts.device())
        if rotation is not None:
            rotation.after_capture(self, parts.device())
        dumps.write(self)

    def reset_(self: Graph) -> None:
        inputs.forget(self)
        executables.remove(self)
        if rotation is not None:
            rotation.forget(self)
        reset(self)
        if pools is not None:
            pools.given_back(self)

    return {"capture_begin": capture_begin, "capture_end": capture_end, "reset": reset_}


def rotation_methods(graph: type, rotation: Rotation, device_type: str) -> dict[str, Method]:
    """The methods that need an executable, which a graph may have given up. Newer classes have more of them."""
    launch, pool, again, dump = (
        getattr(graph, name) for name in ("replay", "pool", "reinstantiate_graph", "debug_dump")
    )

    def replay(self: Graph) -> None:
        if rotation.is_under_way:
            rotation.replay(self, launch)
        else:
            launch(self)

    def pool_(self: Graph) -> Any:
        rotation.restore(self)
        return pool(self)

    def reinstantiate_graph(self: Graph) -> None:
        rotation.restore(self)
        again(self)

    def debug_dump(self: Graph, debug_path: str) -> None:
        rotation.pin(self)  # a dump takes what was captured
        dump(self, debug_path)

    newer = _newer_rotation_methods(graph, rotation, f"raw_{device_type}_graph_exec")
    own: dict[str, Method] = {
        "replay": replay,
        "pool": pool_,
        "reinstantiate_graph": reinstantiate_graph,
        "debug_dump": debug_dump,
    }
    return {**own, **newer}


def _newer_rotation_methods(graph: Any, rotation: Rotation, raw_name: str) -> dict[str, Method]:
    methods: dict[str, Method] = {}
    if takes(graph.__new__, "keep_graph"):
        native = graph.instantiate

        def instantiate(self: Graph) -> None:
            rotation.restore(self)  # so that it is refused as for any graph whose executable was made
            native(self)

        methods["instantiate"] = instantiate
    raw = getattr(graph, raw_name, None)
    if raw is not None:

        def raw_executable(self: Graph) -> int:
            rotation.pin(self)  # the program may use the handle at any time
            handle: int = raw(self)
            return handle

        methods[raw_name] = raw_executable
    return methods
