"""Pause the garbage collector while many objects are made that all stay alive."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# No more than this many new objects before a collection. No program asks for it, so it tells that nobody has set another number.
_NEVER = 2**31 - 2


@contextmanager
def paused() -> Iterator[None]:
    """Collect nothing within the block, unless other threads run, which may need the collector meanwhile.

    Torch makes a quarter of a million objects while it is imported, and hardly one of them is garbage. The collections of that time
    take about 150 ms. Afterwards the objects count as old, as they would without a pause, or the next collection would visit each.
    The threshold is what pauses, and not gc.disable(): whether the collector is enabled is the program's affair, here too.
    """
    if not gc.isenabled() or threading.active_count() > 1 or gc.get_threshold()[0] in (0, _NEVER):
        yield
        return
    before = gc.get_threshold()
    try:
        gc.set_threshold(_NEVER, *before[1:])
        yield
    finally:
        _count_as_old()
        if gc.get_threshold()[0] == _NEVER:
            gc.set_threshold(*before)


def _count_as_old() -> None:
    """Move every object to the oldest generation, by two changes of lists. Objects that the program has frozen stay frozen."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
