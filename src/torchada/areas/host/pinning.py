"""Pinned memory does nothing here, because nothing is copied to a device behind the program's back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.host._places import CPU, places_of
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torchada.redirect.types import AnyFunction, Tensor


def patches(context: Context) -> Iterator[Patch]:
    torch, to = context.torch, "nothing: memory is not pinned"
    tensor, places = torch.Tensor, places_of(context.torch)

    def pin_memory(self: Tensor, device: object = None) -> Tensor:
        pinned: Tensor = places.put(self, CPU)
        return pinned

    def is_pinned(self: Tensor, device: object = None) -> bool:
        return False

    for call in (pin_memory, is_pinned):
        replacement = disguise(call, getattr(tensor, call.__name__), f"Tensor.{call.__name__}")
        yield Patch(tensor, call.__name__, replacement, f"Tensor.{call.__name__}", kind="emulated", to=to)
    loader = torch.utils.data.DataLoader
    init = _without_pinning(loader.__init__, "pin_memory_device")
    yield Patch(loader, "__init__", init, None, note="DataLoader(pin_memory_device=...)", to=to)
    yield Patch(loader, "pin_memory", _asked_for(context), None, note="DataLoader(pin_memory=True)", to=to)
    hooks = torch.autograd.graph.save_on_cpu
    init = _without_pinning(hooks.__init__, "pin_memory", "device_type")
    yield Patch(hooks, "__init__", init, None, note="torch.autograd.graph.save_on_cpu(pin_memory=True)", to=to)


def _asked_for(context: Context) -> property:
    """What the program has asked for. torch is told that nothing was: it would warn that there is no accelerator."""
    sees_cuda, frame = context.views.sees_cuda, sys._getframe

    def get(self: Any) -> bool:
        return sees_cuda(frame(1).f_globals) and bool(vars(self)["pin_memory"])

    def keep(self: Any, value: bool) -> None:
        vars(self)["pin_memory"] = value

    return property(get, keep)


def _without_pinning(original: Callable[..., None], *names: str) -> AnyFunction:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **{name: value for name, value in kwargs.items() if name not in names})

    return disguise(__init__, original)
