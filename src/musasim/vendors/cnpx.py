"""torch.mlu.cnpx for the face of torch_mlu: ranges for Cambricon's tools, which a simulated device has none of.

Depths and return values are those of nvtx, which the documentation of torch_mlu's module repeats.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_NO_RANGE = -1
_handles = itertools.count(1)


class _Thread(threading.local):
    depth = 0


_thread = _Thread()


def range_push(msg: str) -> int:
    """Open a range of this thread, and return its depth, from 0."""
    _checked(msg)
    _thread.depth += 1
    return _thread.depth - 1


def range_pop() -> int:
    """End this thread's innermost range, and return its depth, or a negative number where none is open."""
    if _thread.depth == 0:
        return _NO_RANGE
    _thread.depth -= 1
    return _thread.depth


def range_start(msg: str) -> int:
    """Open a range that any thread may end, and return its handle."""
    _checked(msg)
    return next(_handles)


def range_end(range_id: int) -> None:
    """End the range of that handle."""


def mark(msg: str) -> None:
    """An event without duration."""
    _checked(msg)


@contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """A range around a block or a function; `msg` is formatted with the further arguments."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()


def _checked(msg: str) -> None:
    if not isinstance(msg, str):
        raise TypeError(f"cnpx: expected a str as the message, got {type(msg).__name__}")
