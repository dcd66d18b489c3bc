"""Snapshots without traces, texts with allocations, and pools whose segments stay whole."""

from __future__ import annotations

import sys
from typing import Any

from ... import _MUSAC
from ...core import memory
from ...core._utils import DeviceUnion


def memory_snapshot(mempool_id: Any = None, include_traces: bool = True) -> Any:
    """Every segment, or every one of a pool, and the blocks in it."""
    pool = (0, 0) if mempool_id is None else mempool_id
    return _MUSAC._musa_memorySnapshot((pool[0], pool[1], include_traces))["segments"]


def _record_memory_history_legacy(
    enabled: bool,
    record_context: bool = True,
    trace_alloc_max_entries: int = 1,
    trace_alloc_record_context: bool = False,
    device: DeviceUnion = None,
    record_context_cpp: bool = False,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
    skip_actions: list[str] | None = None,
) -> None:
    context = (record_context, trace_alloc_max_entries, trace_alloc_record_context, record_context_cpp)
    extra = (clear_history, compile_context, global_record_annotations, skip_actions or [])
    _MUSAC._musa_record_memory_history_legacy(enabled, *context, *extra)


def _record_memory_history_impl(
    enabled: str | None = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = sys.maxsize,
    device: DeviceUnion = None,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
    skip_actions: list[str] | None = None,
) -> None:
    extra = (clear_history, compile_context, global_record_annotations, skip_actions or [])
    _MUSAC._musa_record_memory_history(enabled, context, stacks, max_entries, *extra)


def _set_memory_metadata(metadata: str) -> None:
    """A text for the entries of the history from now on; an empty one for none."""
    _MUSAC._musa_setMemoryMetadata(metadata)


def _get_memory_metadata() -> str:
    """The text that _set_memory_metadata() has set."""
    return str(_MUSAC._musa_getMemoryMetadata())


class MemPool:
    """The methods of core.memory.MemPool."""

    def __init__(self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        _MUSAC._MemPool.__init__(self, allocator, True, use_on_oom, no_split)

    def snapshot(self, include_traces: bool = True) -> Any:
        """The segments of this pool, on all devices."""
        return memory.memory_snapshot(self.id, include_traces)  # type: ignore[attr-defined, call-arg]
