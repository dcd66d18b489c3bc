"""torch.cuda.nvtx and torch.autograd.profiler.emit_nvtx: torch's functions stay, and the library that they call is replaced.

There is no NVIDIA tool to read the ranges. While a torch profiler runs, they appear in its trace as record_function ranges.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch.autograd.profiler import emit_nvtx

    from torchada.redirect.types import AnyFunction

# nvToolsExt: a negative level means that there was no range to end.
_NO_RANGE = -1


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    profiler = torch.autograd.profiler
    yield Patch(torch.cuda.nvtx, "_nvtx", Ranges(torch), "torch.cuda.nvtx", kind="emulated", to="record_function")
    enter, leave = profiler.emit_nvtx.__enter__, profiler.emit_nvtx.__exit__
    api = "torch.autograd.profiler.emit_nvtx"
    yield Patch(
        profiler.emit_nvtx, "__enter__", _enter(context, enter), api, kind="emulated", to="no tool reads the ranges"
    )
    yield Patch(
        profiler.emit_nvtx, "__exit__", _exit(context, leave), api, kind="emulated", to="no tool reads the ranges"
    )


class _Open(threading.local):
    """The open ranges of a thread, innermost last."""

    def __init__(self) -> None:
        self.stack: list[object] = []


class Ranges:
    """The functions of torch._C._nvtx, under their names."""

    def __init__(self, torch: ModuleType) -> None:
        self._torch = torch
        self._profiler = torch.autograd.profiler
        self._open = _Open()
        self._handles = itertools.count(1)

    def rangePushA(self, message: str) -> int:
        """Open a range on this thread's stack, and return its depth, from 0."""
        stack = self._open.stack
        stack.append(self._begin(message))
        return len(stack) - 1

    def rangePop(self) -> int:
        """End this thread's innermost range, and return its depth, or a negative number if none was open."""
        stack = self._open.stack
        if not stack:
            return _NO_RANGE
        record = stack.pop()
        if record is not None:
            self._end(record)
        return len(stack)

    def markA(self, message: str) -> None:
        """An event without duration."""
        record = self._begin(message)
        if record is not None:
            self._end(record)

    def rangeStartA(self, message: str) -> int:
        """Open a range that any thread may end, and return a handle, never 0. Such ranges overlap, and torch's traces omit them."""
        if not isinstance(message, str):
            raise _no_text(message)
        return next(self._handles)

    def rangeEnd(self, handle: int) -> None:
        """End the range that `rangeStartA` returned `handle` for; nvtx ignores unknown handles."""

    def deviceRangeStart(self, message: str, stream: int = 0) -> object:
        """Open a range when `stream` has finished its work, and return an opaque handle."""
        return self.rangeStartA(message)

    def deviceRangeEnd(self, handle: object, stream: int = 0) -> None:
        """End such a range when `stream` has finished its work."""

    def _begin(self, message: str) -> object:
        """The record that _end() takes, or None while no profiler runs (the usual case): callers then do not call _end()."""
        if not isinstance(message, str):
            raise _no_text(message)
        # Not the class record_function: its first use imports a module, and torch 2.13's tracer of Python stacks fails on that.
        if not self._profiler._is_profiler_enabled:
            return None
        return self._torch.ops.profiler._record_function_enter_new(message, None)

    def _end(self, record: object) -> None:
        self._torch.ops.profiler._record_function_exit._RecordFunction(record)


def _no_text(message: object) -> TypeError:
    return TypeError(f"nvtx: expected a str as the message, got {type(message).__name__}")


def _enter(context: Context, original: AnyFunction) -> AnyFunction:
    cuda = context.torch.cuda

    def __enter__(self: emit_nvtx) -> emit_nvtx | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("NVTX annotation context manager is not reentrant")
        self.entered = True
        cuda.synchronize()
        return self

    return disguise(__enter__, original)


def _exit(context: Context, original: AnyFunction) -> AnyFunction:
    cuda = context.torch.cuda

    def __exit__(self: emit_nvtx, *error: object) -> bool | None:
        if not self.enabled:
            return None
        cuda.synchronize()
        return False

    return disguise(__exit__, original)
