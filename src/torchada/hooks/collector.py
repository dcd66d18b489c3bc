"""Pause the garbage collector while many objects are made that all stay alive."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Collect nothing within the block. A collector that the program has paused itself stays paused afterwards.

    Each 700 new objects count towards a full collection, which walks through everything that torch has made: 60 to 110 ms. When
    redirection begins, we make some thousands of objects, and none of them is garbage.
    """
    if not gc.isenabled():
        yield
        return
    try:
        gc.disable()
        yield
    finally:
        gc.enable()
