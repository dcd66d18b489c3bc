"""The record of one process: recording starts with redirection, and the result is written when the process ends in any way.

The interpreter's normal exit calls us through atexit; workers of DataLoader and multiprocessing end with os._exit, and a program
may replace itself with exec, so these are patched while recording is on. A process killed by a signal writes no record.
"""

from __future__ import annotations

import atexit
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.base.private import masked_command
from torchada.base.version import __version__
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.telemetry import report, summary
from torchada.telemetry.computed import Computed
from torchada.telemetry.observe import Observer
from torchada.telemetry.recorder import Recorder, Use
from torchada.telemetry.sites import Callers, Site

if TYPE_CHECKING:
    from torchada.redirect.types import P, R

Complain = Callable[[str, Exception], None]


class Telemetry:
    """Everything recorded in this process. `complain(what, error)` warns once; in strict mode it raises instead."""

    def __init__(self, context: Context, complain: Complain) -> None:
        self.context = context
        self._settings, self._complain = context.settings, complain
        self._started = time.time()
        self._process = _describe(context)
        self._computed = Computed(context.backend.simulator if self._process["simulated"] else None)
        self._told = self._computed.counts()
        backend = frozenset(filter(None, (context.backend.adapter, context.backend.simulator)))
        announce = _announce if self._settings.log == "calls" else None
        self._recorder = Recorder(Callers(backend), complain, announce)
        self.observer = Observer(context, self._recorder.note)

    def observe(self, area: str, patches: list[Patch]) -> list[Patch]:
        """The patches of an area, recorded; unchanged if that fails."""
        try:
            return self.observer.observe(patches)
        except Exception as error:
            self._complain(f"recording the calls of area {area!r}", error)
            return patches

    def own_patches(self) -> Iterator[Patch]:
        """Patches for the functions of torch.cuda that no area redirects, and for the functions that end a process."""
        yield from self.observer.untouched()
        for name in ("_exit", "execv", "execve"):
            yield Patch(
                os, name, _after(_tell, getattr(os, name)), None, note="the record of this process is written first"
            )

    def tell(self) -> None:
        """Print and write what has been counted since the last time."""
        try:
            counts, computed = self._recorder.drain(), self._computed.counts()
            if not counts and computed == self._told:
                return
            self._told = computed
            process = {**self._process, **_identity(), "started": self._started, **computed}
            uses = report.uses(counts)
            if self._settings.log == "summary":
                _write(summary.text(process, uses))
            if self._settings.report:
                report.merge(self._settings.report, {**process, "ended": time.time()}, uses)
        except Exception as error:
            self._complain("reporting which APIs of CUDA were used", error)

    def before_fork(self) -> None:
        """In the parent of a child that is about to be forked."""
        self._computed.before_fork()

    def begin_anew(self) -> None:
        """In a forked child: discard the counts, which belong to its parent."""
        self._recorder.clear()
        self._started = time.time()
        self._computed.begin_anew()
        self._told = self._computed.counts()


# One for each redirection of another kind in this process; functions of an earlier one may still be called.
_TELEMETRY: list[Telemetry] = []


def begin(context: Context, complain: Complain) -> Telemetry:
    """Recording for a redirection that starts; the record of an earlier one in this process is written first."""
    if not _TELEMETRY:  # once per process, because neither registration can be undone
        atexit.register(_tell)
        os.register_at_fork(before=_before_fork, after_in_child=_forked)
    _tell()
    for earlier in _TELEMETRY:
        if earlier.context == context:
            return earlier
    _TELEMETRY.append(Telemetry(context, complain))
    return _TELEMETRY[-1]


def _tell() -> None:
    for telemetry in _TELEMETRY:
        telemetry.tell()


def _before_fork() -> None:
    for telemetry in _TELEMETRY:
        telemetry.before_fork()


def _forked() -> None:
    for telemetry in _TELEMETRY:
        telemetry.begin_anew()


def _after(first: Callable[[], None], then: Callable[P, R]) -> Callable[P, R]:
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            first()
        except Exception:  # strict mode; a forked child that fails to exit would continue as a copy of its parent
            traceback.print_exc()
        return then(*args, **kwargs)

    return call


def _describe(context: Context) -> dict[str, object]:
    adapter = sys.modules.get(context.backend.adapter)
    return {
        "folder": os.getcwd(),
        "host": platform.node(),
        "python": platform.python_version(),
        "torch": str(context.torch.__version__),
        "torchada": __version__,
        "backend": context.backend.name,
        "adapter": f"{context.backend.adapter} {getattr(adapter, '__version__', '')}".strip(),
        "simulated": bool(getattr(adapter, "__simulated__", False)),
    }


def _announce(use: Use, site: Site) -> None:
    _write(summary.line(use, site))


def _identity() -> dict[str, object]:
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "command": masked_command([str(argument) for argument in sys.argv]),
    }


def _write(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()
