"""The C functions that torch.cuda.memory's snapshots and histories call, written over the backend's Python functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchada.redirect.types import MemoryModule

Snapshot = dict[str, Any]


class History:
    """`memory` is the backend's module of that name, with `_snapshot` and `_record_memory_history`.

    What the backend has no counterpart for is done here: one pool's segments, no traces, actions to skip, clearing a history.
    Annotations by the compiler or the program, and pinned memory of the host (torch 2.15), are not supported, and a snapshot then
    lacks them.
    """

    def __init__(self, memory: MemoryModule) -> None:
        self._memory = memory
        self._skipped: frozenset[str] = frozenset()

    def snapshot(self, selection: tuple[object, ...] | None = None) -> Snapshot:
        """All segments, or those of the pool (a, b), given as (a, b) or (a, b, include_traces); (0, 0) selects all."""
        snapshot: Snapshot = dict(self._memory._snapshot())
        pool, with_traces = (tuple(selection[:2]), selection[2:] != (False,)) if selection else ((0, 0), True)
        if pool != (0, 0):
            snapshot["segments"] = [
                segment for segment in snapshot["segments"] if tuple(segment["segment_pool_id"]) == pool
            ]
        if not with_traces:
            snapshot["device_traces"] = [[] for _ in snapshot["device_traces"]]
        elif self._skipped:
            snapshot["device_traces"] = [self._without_skipped(trace) for trace in snapshot["device_traces"]]
        return snapshot

    def _without_skipped(self, trace: list[Snapshot]) -> list[Snapshot]:
        return [entry for entry in trace if entry["action"] not in self._skipped]

    def _prepare(self, clear_history: bool, skip_actions: Iterable[str] | None) -> None:
        if clear_history:
            self._memory._record_memory_history(None)
        self._skipped = frozenset(skip_actions or ())

    def record(
        self,
        enabled: str | None,
        context: str | None = "all",
        stacks: str = "all",
        max_entries: int = 2**63 - 1,
        clear_history: bool = False,
        compile_context: bool = False,
        global_record_annotations: bool = False,
        skip_actions: Iterable[str] | None = (),
        record_pinned_host_memory: bool = False,
        record_cuda: bool = True,
    ) -> None:
        """Begin to record; if `enabled` is None, stop and clear the history."""
        self._prepare(clear_history, skip_actions)
        if record_cuda:
            self._memory._record_memory_history(enabled, context, stacks, max_entries)

    def record_legacy(
        self,
        enabled: bool,
        record_context: bool = True,
        trace_alloc_max_entries: int = 1,
        trace_alloc_record_context: bool = False,
        record_context_cpp: bool = False,
        clear_history: bool = False,
        compile_context: bool = False,
        global_record_annotations: bool = False,
        skip_actions: Iterable[str] | None = (),
        record_pinned_host_memory: bool = False,
        record_cuda: bool = True,
    ) -> None:
        """As `record`, with the arguments that torch had before 2.1."""
        self._prepare(clear_history, skip_actions)
        if record_cuda:
            self._memory._record_memory_history(
                enabled,
                record_context=record_context,
                trace_alloc_max_entries=trace_alloc_max_entries,
                trace_alloc_record_context=trace_alloc_record_context,
                record_context_cpp=record_context_cpp,
            )
