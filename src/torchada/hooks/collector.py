"""The garbage collector, and many objects that are made at once and stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Within, nothing is collected, unless the program has paused the collector itself.

    Each 700 new objects count towards a full collection, which walks through everything that torch has: 60 to 110 ms. What we
    make when redirection begins is some thousands of objects, and none of them is garbage.
    """
    if not gc.isenabled():
        yield
        return
    try:
        gc.disable()
        yield
    finally:
        gc.enable()
