"""torch.cuda.nvtx and torch.autograd.profiler.emit_nvtx: the library behind torch's functions is replaced, the functions stay.

No NVIDIA tool is there to read the ranges. While a torch profiler runs, they appear in its trace as record_function ranges.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

# nvToolsExt: a negative level says that there was no range to end.
_NO_RANGE = -1


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    profiler = torch.autograd.profiler
    yield Patch(torch.cuda.nvtx, "_nvtx", Ranges(torch), "torch.cuda.nvtx", kind="emulated", to="record_function")
    enter, leave = profiler.emit_nvtx.__enter__, profiler.emit_nvtx.__exit__
    api = "torch.autograd.profiler.emit_nvtx"
    yield Patch(profiler.emit_nvtx, "__enter__", _enter(context, enter), api, kind="emulated", to="no tool listens")
    yield Patch(profiler.emit_nvtx, "__exit__", _exit(context, leave), api, kind="emulated", to="no tool listens")


class _Open(threading.local):
    """The ranges that a thread has open, innermost last."""

    def __init__(self) -> None:
        self.stack: list[Any] = []


class Ranges:
    """What torch._C._nvtx has, under its names."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._profiler = torch.autograd.profiler
        self._open = _Open()
        self._handles = itertools.count(1)

    def rangePushA(self, message: str) -> int:
        """Open a range on this thread's stack. Its depth, from 0."""
        stack = self._open.stack
        stack.append(self._begin(message))
        return len(stack) - 1

    def rangePop(self) -> int:
        """End this thread's innermost range. Its depth, or a negative number if none was open."""
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
        """Open a range that any thread may end. A handle; never 0. Such ranges overlap, and are not in torch's traces."""
        if not isinstance(message, str):
            raise _no_text(message)
        return next(self._handles)

    def rangeEnd(self, handle: int) -> None:
        """End the range that `rangeStartA` returned `handle` for; nvtx ignores handles it does not know."""

    def deviceRangeStart(self, message: str, stream: int = 0) -> object:
        """Open a range when `stream` has done its work. An opaque handle."""
        return self.rangeStartA(message)

    def deviceRangeEnd(self, handle: object, stream: int = 0) -> None:
        """End such a range when `stream` has done its work."""

    def _begin(self, message: str) -> Any:
        """What _end() ends; None while no profiler runs, which is nearly always: callers then spare themselves a call."""
        if not isinstance(message, str):
            raise _no_text(message)
        # Not the class record_function: its first use imports a module, on which torch 2.13's tracer of Python stacks trips.
        if not self._profiler._is_profiler_enabled:
            return None
        return self._torch.ops.profiler._record_function_enter_new(message, None)

    def _end(self, record: Any) -> None:
        self._torch.ops.profiler._record_function_exit._RecordFunction(record)


def _no_text(message: Any) -> TypeError:
    return TypeError(f"nvtx: expected a str as the message, got {type(message).__name__}")


def _enter(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    cuda = context.torch.cuda

    def __enter__(self: Any) -> Any:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("NVTX annotation context manager is not reentrant")
        self.entered = True
        cuda.synchronize()
        return self

    return disguise(__enter__, original)


def _exit(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    cuda = context.torch.cuda

    def __exit__(self: Any, *error: Any) -> Any:
        if not self.enabled:
            return None
        cuda.synchronize()
        return False

    return disguise(__exit__, original)
