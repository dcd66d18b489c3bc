"""Switch the redirection off and on again in a running process."""

from __future__ import annotations

import sys

from _torchada_startup import FINDER, WATCHED_AT_START
from torchada.control import blocks
from torchada.hooks import activation, choice
from torchada.hooks.state import STATE
from torchada.redirect.engine import ENGINE
from torchada.views.state import PROCESS


def disable() -> None:
    """Put back everything that was changed, exactly, and switch the import hook off. Does nothing when nothing is in force.

    Entries that other code has changed since stay as they are. Tensors on the device, and torch_musa, stay usable. Imports in other
    threads go on undisturbed; a thread that uses torch meanwhile may meet entries that are put back beside others that are not yet.
    """
    FINDER.enabled = False
    ENGINE.revert_all()
    if STATE.context is not None:
        choice.take_back(STATE.context.backend)
    STATE.reset()


def enable() -> None:
    """Put the import hook in force, even under TORCHADA_DISABLE=1, and redirect what has been imported already. Idempotent.

    A part that cannot be redirected is left alone and named in a TorchadaWarning; under TORCHADA_STRICT=1, TorchadaError is raised.
    """
    if FINDER.is_in_force() and STATE.context is not None:
        return
    FINDER.watched.update(WATCHED_AT_START)
    FINDER.enabled = True
    if FINDER not in sys.meta_path:
        sys.meta_path.insert(0, FINDER)
    activation.catch_up(FINDER)


def disabled() -> blocks.Blocks:
    """Run a `with` block, or a function that this decorates, as if torchada were not installed.

    Afterwards, also if the block raises, the redirection is what it was before. There is one redirection for the whole process, so
    other threads go without it meanwhile; where blocks overlap, it comes back when the last of them ends. A generator or coroutine
    that is decorated goes without it from its first step to its end. Raises TorchadaError as `enable` does.
    """
    return _BLOCKS


def set_view(package: str, view: str | None) -> None:
    """Let the code of `package`, a top-level package or module, see "cuda" or the "backend"; None lets torchada choose again.

    "musa" means the backend too, whichever it is. It may be called before torch is imported, and holds for questions that are asked
    afterwards. Raises ValueError for another view, and for a name with a dot.
    """
    PROCESS.choose(package, "musa" if view == "backend" else view)


def is_patched() -> bool:
    """Whether anything is redirected in this process. False before torch has been imported, and where there is nothing to do."""
    return any(ENGINE.applied().values())


_BLOCKS = blocks.Blocks(FINDER.is_in_force, disable, enable)
