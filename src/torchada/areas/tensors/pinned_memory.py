"""Pinned host memory. DataLoader's pin_memory and Tensor.pin_memory need no patch, because torch uses the accelerator for them.

save_on_cpu calls torch.cuda.is_available() to find out whether it may pin memory, unless it is given another device type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    hooks = context.torch.autograd.graph.save_on_cpu
    init = _save_on_cpu(context, hooks.__init__)
    yield Patch(hooks, "__init__", init, 'torch.autograd.graph.save_on_cpu(device_type="cuda")')


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
