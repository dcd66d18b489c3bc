"""The gates of a process. They are opened when it first uses the device: before that, no tensor comes to one."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from torchada.areas.kernels import _handles
from torchada.redirect import deferred
from torchada.redirect.owners import MISSING

if TYPE_CHECKING:
    from torch._C import DispatchKeySet

    from torchada.areas.kernels._gates.build import Found
    from torchada.areas.kernels._gates.library import Library
    from torchada.redirect.context import Context

# By what a gate decides, as bits; csrc/gate.h has the same numbers.
ALWAYS, REFUSED, INTEGERS, DOUBLES, SLICED, SCALED = 1, 2, 4, 8, 16, 32
FRACTIONAL, COMPLEX, NOTHING, SCATTERED, INTO_FLOATS, EVALUATED = 64, 128, 256, 512, 1024, 2048
# Before a call into `out`, that gets the size of the result: of pairs of elements, of a product, of a reduction.
PAIRWISE, PRODUCT, REDUCED = 4096, 8192, 16384
REFUSED_COMPLEX, WAITING, NUMBER_FIRST = 32768, 65536, 131072
_PYTHON, _OWN = "PrivateUse2", "PrivateUse3"


class Gated(Protocol):
    """A kernel in Python that a gate stands before."""

    name: str
    key: str
    rule: int
    only_in_cpp: bool  # not worth what a gate in Python costs

    @property
    def is_needed(self) -> bool:
        """Whether some calls are not the device's own kernel's."""
        ...

    def opened(self, own: Any, leave: Callable[[], None]) -> None:
        """A gate in C++ is open: `own` has the key of the device's own kernel, and `leave` says that `is_needed` has changed."""
        ...

    def follow(self, kernel: Callable[..., Any] | None) -> None:
        """What the device's own kernel is for this one: another that stands behind the same gate, or None."""
        ...

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any: ...


class Gates:
    """Of one process: the library is looked for once, and then serves whatever is opened."""

    def __init__(self) -> None:
        self._found: Found | None = None
        self._by_name: dict[str, Gate] = {}
        self.places: list[Place] = []
        self.groups: list[Group] = []
        self.is_waiting = False

    @property
    def state(self) -> str:
        """Which ones this process has, and why: known once the device has been used, and so not by `torchada status`."""
        if self._found is None:
            return "gates open when the device is first used"
        return "gates in C++" if self._found.library is not None else f"gates in Python: {self._found.why}"

    @property
    def operators(self) -> set[str]:
        """Those that have a gate, once the device has been used."""
        return {name for name, gate in self._by_name.items() if gate.kernels}

    @property
    def library(self) -> Library | None:
        """The library, once it has been looked for."""
        return None if self._found is None else self._found.library

    def found(self, context: Context) -> Found:
        if self._found is None:
            from torchada.areas.kernels._gates import build

            self._found = build.find(context)
        return self._found

    def wait(self, context: Context) -> None:
        """Until the program first uses the device."""
        if not self.is_waiting:
            self.is_waiting = True
            when_used(context, "gates", self._open)

    def _open(self) -> None:
        while self.groups:
            self.groups.pop(0).make()
        changed: dict[str, Gate] = {}
        while self.places:
            gate = self.places.pop(0).take(self._by_name)
            changed[gate.name] = gate
        self.is_waiting = False
        for gate in changed.values():
            gate.open()


GATES = Gates()


class Place:
    """The place of one kernel behind the gate of its operator. There are hundreds, so that it costs little until the gate opens."""

    def __init__(self, context: Context, kernel: Gated) -> None:
        self._context, self._kernel = context, kernel
        self._gate: Gate | None = None
        GATES.places.append(self)
        if not GATES.is_waiting:
            GATES.wait(context)

    def take(self, gates: dict[str, Gate]) -> Gate:
        """In front of the kernels that stand there."""
        name = self._kernel.name
        if name not in gates:
            gates[name] = Gate(name, self._kernel.key)
        gate = self._gate = gates[name]
        gate.context = self._context
        gate.kernels.insert(0, self._kernel)
        return gate

    def reset(self) -> None:
        if self._gate is None:
            GATES.places.remove(self)
        else:
            self._gate.remove(self._kernel)


class Group:
    """Kernels of many operators, which are made when the program first uses the device."""

    def __init__(self, context: Context, kernels: Callable[[], Iterable[Gated]]) -> None:
        self._context, self._kernels = context, kernels
        self._places: list[Place] = []
        GATES.groups.append(self)
        GATES.wait(context)

    def make(self) -> None:
        self._places = [Place(self._context, kernel) for kernel in self._kernels()]

    def reset(self) -> None:
        if self in GATES.groups:
            GATES.groups.remove(self)
        while self._places:
            self._places.pop().reset()


class Gate:
    """One operator's gate, which is open once the program uses the device. Its first kernel is asked first, and calls the next."""

    context: Context

    def __init__(self, name: str, key: str) -> None:
        self.kernels: list[Gated] = []
        self.name, self._key = name, key
        self._handle: Any = None
        self._library: Library | None = None

    def remove(self, kernel: Gated) -> None:
        self.kernels.remove(kernel)
        self._chain()
        if not self.kernels:
            self._close()

    def _chain(self) -> None:
        for kernel, following in zip(self.kernels, [*self.kernels[1:], None]):
            kernel.follow(following)

    def _rule(self) -> int:
        return functools.reduce(operator.or_, (kernel.rule for kernel in self.kernels if kernel.is_needed), 0)

    def open(self) -> None:
        """Open it for those that stand behind it now, whether it was open for others or not."""
        self._close()
        self._chain()
        torch, rule = self.context.torch, self._rule()
        if not rule:
            return
        library = GATES.found(self.context).library
        if library is None or not library.has(self.name):
            if not all(kernel.only_in_cpp for kernel in self.kernels):
                self._handle = _handles.register(torch, self.name, self._key, self._function())
            return
        self._handle = _handles.register(torch, self.name, _PYTHON, self._function())
        keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, _OWN))
        library.open(self.name, rule)
        self._library = library
        for kernel in self.kernels:
            kernel.opened(keys, self._decide)

    def _function(self) -> Callable[..., Any]:
        """The dispatcher wants a function."""

        def call(keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
            return self.kernels[0](keys, *args, **kwargs)

        return call

    def _decide(self) -> None:
        if self._library is not None:
            self._library.decide(self.name, self._rule())

    def _close(self) -> None:
        library, handle = self._library, self._handle
        self._library = self._handle = None
        if library is not None:
            library.close(self.name)
        if handle is not None:
            handle.reset()


class Switch:
    """An owner of patches: whether the library does what it does besides gates, by name, from the first use of the device on."""

    __torchada_owner__ = True

    def __init__(self, context: Context) -> None:
        self._context = context
        self._wanted: set[str] = set()

    def get(self, name: str) -> Any:
        return True if name in self._wanted else MISSING

    def set(self, name: str, value: Any) -> None:
        self._wanted.add(name)
        when_used(self._context, name, functools.partial(self._begin, name))

    def delete(self, name: str) -> None:
        self._wanted.discard(name)
        deferred.forget(name)
        self._turn(name, on=False)

    def _begin(self, name: str) -> None:
        GATES.found(self._context)
        self._turn(name, on=True)

    def _turn(self, name: str, on: bool) -> None:
        if GATES.library is not None:
            GATES.library.turn(name, on)


def when_used(context: Context, key: str, do: Callable[[], None]) -> None:
    """Let `do` wait, by the name `key`, until the program first uses the device."""
    if deferred.defer(key, do):
        # A namespace without this is not initialised, so that its device may be in use.
        getattr(context.namespace, "_lazy_call", _call)(deferred.begin_all)


def _call(do: Callable[[], None]) -> None:
    do()
