"""The gates of a process. They are opened when it first uses the device: before that, no tensor comes to one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from torchada.areas.kernels import _handles
from torchada.redirect import deferred

if TYPE_CHECKING:
    from torchada.areas.kernels._gates.build import Found
    from torchada.areas.kernels._gates.library import Library
    from torchada.redirect.context import Context

# By what a gate decides, as bits; csrc/gate.h has the same numbers.
ALWAYS, REFUSED, INTEGERS, DOUBLES, SLICED, SCALED = 1, 2, 4, 8, 16, 32
FRACTIONAL, COMPLEX, NOTHING, SCATTERED, INTO_FLOATS = 64, 128, 256, 512, 1024
_PYTHON, _OWN = "PrivateUse2", "PrivateUse3"


class Gated(Protocol):
    """A kernel in Python that a gate stands before."""

    name: str
    key: str
    rule: int

    @property
    def is_needed(self) -> bool:
        """Whether some calls are not the device's own kernel's."""
        ...

    def opened(self, own: Any, leave: Callable[[], None]) -> None:
        """A gate in C++ is open: `own` has the key of the device's own kernel, and `leave` makes every call that kernel's."""
        ...


class Gates:
    """Of one process: the library is looked for once, and then serves whatever is opened."""

    def __init__(self) -> None:
        self._found: Found | None = None

    @property
    def state(self) -> str:
        """Which ones this process has, and why: known once the device has been used, and so not by `torchada status`."""
        if self._found is None:
            return "gates open when the device is first used"
        return "gates in C++" if self._found.library is not None else f"gates in Python: {self._found.why}"

    @property
    def library(self) -> Library | None:
        """The library, once it has been looked for."""
        return None if self._found is None else self._found.library

    def found(self, context: Context) -> Found:
        if self._found is None:
            from torchada.areas.kernels._gates import build

            self._found = build.find(context)
        return self._found


GATES = Gates()


class Gate:
    """One gate, which is open once the program uses the device; `function` is the kernel for the dispatcher."""

    def __init__(self, context: Context, kernel: Gated, function: Callable[..., Any]) -> None:
        self._context, self._kernel, self._function = context, kernel, function
        self._handle: Any = None
        self._library: Library | None = None
        self._waiting = f"gate of {kernel.name}"
        when_used(context, self._waiting, self._open)

    def reset(self) -> None:
        deferred.forget(self._waiting)
        if self._library is not None:
            self._library.close(self._kernel.name)
        if self._handle is not None:
            self._handle.reset()

    def _open(self) -> None:
        kernel, torch = self._kernel, self._context.torch
        if not kernel.is_needed:
            return
        library = GATES.found(self._context).library
        if library is None or not library.has(kernel.name):
            self._handle = _handles.register(torch, kernel.name, kernel.key, self._function)
            return
        self._handle = _handles.register(torch, kernel.name, _PYTHON, self._function)
        keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, _OWN))
        library.open(kernel.name, kernel.rule)
        self._library = library
        kernel.opened(keys, lambda: library.leave(kernel.name))


def when_used(context: Context, key: str, do: Callable[[], None]) -> None:
    """Let `do` wait, by the name `key`, until the program first uses the device."""
    if deferred.defer(key, do):
        # A namespace without this is not initialised, so that its device may be in use.
        getattr(context.namespace, "_lazy_call", _call)(deferred.begin_all)


def _call(do: Callable[[], None]) -> None:
    do()
