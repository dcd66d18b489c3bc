"""Pinned host memory. torch uses the accelerator for it, so DataLoader's pin_memory needs no patch.

torch_musa makes its device the default of Tensor.pin_memory and Tensor.is_pinned, and torch has deprecated naming one: each program
that pins memory would be warned of what it has not written. Here nothing is named unless the program does.

save_on_cpu calls torch.cuda.is_available() to find out whether it may pin memory, unless it is given another device type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torchada.redirect.types import DeviceLike, R, Tensor


def patches(context: Context) -> Iterator[Patch]:
    hooks = context.torch.autograd.graph.save_on_cpu
    init = _save_on_cpu(context, hooks.__init__)
    yield Patch(hooks, "__init__", init, 'torch.autograd.graph.save_on_cpu(device_type="cuda")')
    tensor = context.torch.Tensor
    for name in ("pin_memory", "is_pinned"):
        if name in vars(tensor):  # else it is torch's own, which has no default
            call = _unnamed(vars(tensor)[name], f"Tensor.{name}")
            yield Patch(tensor, name, call, None, note="the adapter's default is a deprecated argument")


def _unnamed(original: Callable[..., R], path: str) -> Callable[..., R]:
    def without_default(self: Tensor, device: DeviceLike = None) -> R:
        return original(self, device)

    return disguise(without_default, original, path)


def _save_on_cpu(context: Context, original: Callable[..., None]) -> Callable[..., None]:
    # The default of `device_type`, its second argument, is "cuda".
    translate = context.devices.translate

    def __init__(self: object, *args: object, **kwargs: object) -> None:
        if len(args) > 1:
            args = (args[0], translate(args[1]), *args[2:])
        else:
            kwargs["device_type"] = translate(kwargs.get("device_type", "cuda"))
        original(self, *args, **kwargs)

    return disguise(__init__, original)
