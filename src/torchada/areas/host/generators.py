"""torch.Generator("cuda") is one of the CPU's, and says to code that sees CUDA that it is the device's: programs compare that with
the device of a tensor. Other code, torch's above all, finds the CPU's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from torchada.areas.host._places import CPU, places_of
from torchada.areas.host._targets import Targets
from torchada.redirect.calls import disguise
from torchada.redirect.constructors import New, redirect_new
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torchada.redirect.types import Device, Generator

    Indices = MutableMapping[Generator, int]


def patches(context: Context) -> Iterator[Patch]:
    kind, indices = context.torch.Generator, WeakKeyDictionary[Any, int]()
    yield from redirect_new(kind, lambda new: _remembered(context, indices, new), 'torch.Generator("cuda")')
    yield Patch(kind, "device", _device(context, indices), None, note="torch.Generator.device by who asks")
    if "clone_state" in vars(kind):
        clone = _clone(context, indices, kind.clone_state)
        yield Patch(kind, "clone_state", clone, None, note="torch.Generator.clone_state")


def _remembered(context: Context, indices: Indices, construct: New) -> New:
    index, own = Targets(context, places_of(context.torch)).index, context.backend.computes_on
    referable = _referable(context.torch.Generator)

    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        number = index(given[0]) if len(given) == 1 else None
        if number is None or number == CPU:
            return construct(cls, *args, **kwargs)
        made = construct(cls if cls.__weakrefoffset__ else referable, own)
        indices[made] = number
        return made

    return __new__


def _referable(kind: type[Generator]) -> type[Generator]:
    """The class itself, or one derived from it: nothing can refer weakly to a generator of torch 2.11 or an older one."""
    names = {"__slots__": ("__weakref__",), "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    return kind if kind.__weakrefoffset__ else type(kind.__name__, (kind,), names)


def _number(indices: Indices, generator: Generator) -> int | None:
    return indices.get(generator) if type(generator).__weakrefoffset__ else None


def _device(context: Context, indices: Indices) -> property:
    original, device = context.torch.Generator.device.__get__, context.torch.device
    sees_cuda, frame = context.views.sees_cuda, sys._getframe

    def get(self: Generator) -> Device:
        number = _number(indices, self) if sees_cuda(frame(1).f_globals) else None
        own: Device = original(self) if number is None else device("cuda", number)
        return own

    return property(get)


def _clone(
    context: Context, indices: Indices, original: Callable[[Generator], Generator]
) -> Callable[[Generator], Generator]:
    def clone_state(self: Generator) -> Generator:
        number = _number(indices, self)
        if number is None:
            return original(self)
        made: Generator = context.torch.Generator(context.torch.device("cuda", number))
        return made.set_state(self.get_state())

    return disguise(clone_state, original, "Generator.clone_state")
