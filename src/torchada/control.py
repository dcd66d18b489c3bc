"""Switch the redirection off and on again in a running process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from _torchada_startup import FINDER, WATCHED_AT_START
from torchada.hooks import activation, choice
from torchada.hooks.state import STATE
from torchada.redirect.engine import ENGINE


def disable() -> None:
    """Put back everything that was changed and take the hook out. Does nothing when nothing is in force."""
    if FINDER in sys.meta_path:
        sys.meta_path.remove(FINDER)
    ENGINE.revert_all()
    if STATE.context is not None:
        choice.mirror(STATE.context.backend).take_back()
    STATE.reset()


def enable() -> None:
    """Put the hook in force, also against TORCHADA_DISABLE=1, and redirect what has been imported. Idempotent."""
    if FINDER in sys.meta_path and STATE.context is not None:
        return
    FINDER.watched.update(WATCHED_AT_START)
    if FINDER not in sys.meta_path:
        sys.meta_path.insert(0, FINDER)
    activation.catch_up()


@contextmanager
def disabled() -> Iterator[None]:
    """Run a with-block as if torchada were not there, and redirect again after it if it was redirecting before."""
    was_enabled = FINDER in sys.meta_path
    disable()
    try:
        yield
    finally:
        if was_enabled:
            enable()


def is_patched() -> bool:
    """Whether any patch is in force in this process."""
    return any(ENGINE.applied().values())
