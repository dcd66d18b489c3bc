"""Graphs whose executable can be made later, and again."""

from __future__ import annotations

import gc
from typing import Any

import torch

from ... import _MUSAC, torch_musa
from ...core.device import synchronize
from ...core.memory import empty_cache
from ...musa_graph import _graphed_callables, graphs

_Native = _MUSAC._MUSAGraph


def graph_pool_handle() -> Any:
    """A new id for memory that several graphs share."""
    return torch_musa._POOL_HANDLE(_MUSAC._graph_pool_handle())


def update_musa_graph_with_profile() -> None:
    """Let the profiler see the kernels of existing graphs that are captured."""
    for instance in graphs.MUSAGraph.get_latest_instance():
        if instance._has_capture:
            instance.reinstantiate_graph()


class MUSAGraph:
    """The methods of musa_graph.graphs.MUSAGraph."""

    _has_capture: bool

    def __new__(cls, keep_graph: bool = False) -> Any:
        instance = _Native.__new__(cls, keep_graph)
        instance._has_capture = False
        cls._graph_instances.add(instance)  # type: ignore[attr-defined]
        return instance

    def capture_end(self) -> None:
        """Stop recording. The executable is made, unless the graph is kept for instantiate()."""
        _Native.capture_end(self)
        self._has_capture = True

    def instantiate(self) -> None:
        """Make the executable of a graph that is kept, or make it again."""
        _Native.instantiate(self)

    def raw_musa_graph(self) -> Any:
        """The musaGraph_t of a graph that is kept, as an int."""
        return _Native.raw_musa_graph(self)

    def raw_musa_graph_exec(self) -> Any:
        """The musaGraphExec_t, as an int."""
        return _Native.raw_musa_graph_exec(self)

    def reset(self) -> None:
        """Discard the recording."""
        _Native.reset(self)
        self._has_capture = False


class graph:
    """The methods of musa_graph.graphs.graph."""

    capture_error_mode: str

    def __enter__(self: Any) -> None:
        synchronize()
        if torch.compiler.config.force_cudagraph_gc:
            gc.collect()
        empty_cache()
        self.stream_ctx.__enter__()
        self.musa_graph.capture_begin(pool=self.pool, capture_error_mode=self.capture_error_mode)


def make_graphed_callables(
    callables: Any, sample_args: Any, num_warmup_iters: int = 3, allow_unused_input: bool = False, pool: Any = None
) -> Any:
    """As before, with the memory of `pool` if one is given."""
    return _graphed_callables.make(callables, sample_args, num_warmup_iters, allow_unused_input, pool)
