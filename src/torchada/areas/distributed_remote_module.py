"""RemoteModule on "worker/cuda:0": its forward moves arguments from the CPU to the device, and results back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    from torch.distributed.nn.api import remote_module

    why = 'torch.distributed.nn.RemoteModule("worker/cuda:0")'
    prepare = _prepare_init(context, remote_module._RemoteModule._prepare_init)
    yield Patch(remote_module._RemoteModule, "_prepare_init", prepare, why)


def _prepare_init(context: Context, original: Callable[..., bool]) -> Callable[..., bool]:
    """Torch's answer is whether tensors are to be moved."""
    device, own = context.torch.device, context.backend.device_type

    def _prepare_init(self: Any, *args: Any, **kwargs: Any) -> bool:
        return original(self, *args, **kwargs) or device(self.device).type == own

    return disguise(_prepare_init, original)
