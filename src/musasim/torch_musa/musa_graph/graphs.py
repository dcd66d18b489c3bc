"""MUSAGraph, and the ways to record one."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from .. import _MUSAC
from ..core.device import synchronize
from ..core.memory import empty_cache
from ..core.stream import Stream, StreamContext
from . import _graphed_callables


def is_current_stream_capturing() -> bool:
    """Whether the current stream records instead of running."""
    return bool(_MUSAC._musa_isCurrentStreamCapturing())


def graph_pool_handle() -> tuple[int, int]:
    """A new id for memory that several graphs share."""
    handle: tuple[int, int] = _MUSAC._graph_pool_handle()
    return handle


class MUSAGraph(_MUSAC._MUSAGraph):  # type: ignore[misc]
    """Recorded device work."""

    _graph_instances: Any = weakref.WeakSet()

    def __new__(cls) -> Any:
        instance = super().__new__(cls)
        cls._graph_instances.add(instance)
        return instance

    def capture_begin(self, pool: tuple[int, int] | None = None, capture_error_mode: str = "global") -> None:
        """Record the work that the current stream gets from now on, with memory of `pool`."""
        super().capture_begin(pool=pool, capture_error_mode=capture_error_mode)

    def capture_end(self) -> None:
        """Stop recording."""
        super().capture_end()

    def reinstantiate_graph(self) -> None:
        """Rebuild the executable from the recording."""
        super().reinstantiate_graph()

    def replay(self) -> None:
        """Run the recorded work in the current stream."""
        super().replay()

    def reset(self) -> None:
        """Discard the recording."""
        super().reset()

    def pool(self) -> tuple[int, int]:
        """The id of the memory in use, which other graphs can share."""
        identity: tuple[int, int] = super().pool()
        return identity

    def enable_debug_mode(self) -> None:
        """Keep the data that debug_dump() needs."""
        super().enable_debug_mode()

    def debug_dump(self, debug_path: str) -> None:
        """Write the recording to a file."""
        super().debug_dump(debug_path)

    @classmethod
    def get_latest_instance(cls) -> list[Any]:
        """All graphs that are alive."""
        return list(cls._graph_instances)


def update_musa_graph_with_profile() -> None:
    """Let the profiler see the kernels of existing graphs. It sees only those of graphs instantiated after it started."""
    for instance in MUSAGraph.get_latest_instance():
        instance.reinstantiate_graph()


class graph:
    """Record the work inside the block into `musa_graph`."""

    default_capture_stream: Stream | None = None

    def __init__(
        self,
        musa_graph: MUSAGraph,
        pool: tuple[int, int] | None = None,
        stream: Stream | None = None,
        capture_error_mode: str = "global",
    ) -> None:
        # The default stream cannot record, so callers that give no stream share this one.
        if type(self).default_capture_stream is None:
            type(self).default_capture_stream = Stream()
        self.musa_graph = musa_graph
        self.pool = pool
        self.capture_stream = type(self).default_capture_stream if stream is None else stream
        self.stream_ctx = StreamContext(self.capture_stream)
        self.capture_error_mode = capture_error_mode

    def __enter__(self) -> None:
        # The graph's pool should be able to use the memory of dead tensors, and no work may be running.
        synchronize()
        gc.collect()
        empty_cache()
        self.stream_ctx.__enter__()
        self.musa_graph.capture_begin(pool=self.pool, capture_error_mode=self.capture_error_mode)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        self.musa_graph.capture_end()
        self.stream_ctx.__exit__(exc_type, exc_value, traceback)


def make_graphed_callables(
    callables: Any, sample_args: Any, num_warmup_iters: int = 3, allow_unused_input: bool = False
) -> Any:
    """`callables` (one, or a tuple) with forward and backward replaced by graphs of themselves.

    `sample_args` are tensors like those of later calls; for a tuple of callables, a tuple of such tuples.
    """
    return _graphed_callables.make(callables, sample_args, num_warmup_iters, allow_unused_input)
