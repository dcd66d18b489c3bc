"""RemoteModule on "worker/cuda:0": its forward moves arguments from the CPU to the device, and moves results back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from typing import Concatenate

    from torch.distributed.nn.api.remote_module import _RemoteModule

    from torchada.redirect.types import P

_SOURCE = "_REMOTE_FORWARD_TEMPLATE_ENABLE_MOVING_CPU_TENSORS_TO_CUDA"
_THEIRS = 'device.type != "cuda"'


def construction(context: Context) -> Iterator[Patch]:
    """The module decides at its construction whether its forward moves tensors."""
    from torch.distributed.nn.api import remote_module

    api = 'torch.distributed.nn.RemoteModule("worker/cuda:0")'
    prepare = _prepare_init(context, remote_module._RemoteModule._prepare_init)
    yield Patch(remote_module._RemoteModule, "_prepare_init", prepare, api)


def _prepare_init(
    context: Context, original: Callable[Concatenate[_RemoteModule, P], bool]
) -> Callable[Concatenate[_RemoteModule, P], bool]:
    device, own = context.torch.device, context.backend.device_type

    def _prepare_init(self: _RemoteModule, *args: P.args, **kwargs: P.kwargs) -> bool:
        return original(self, *args, **kwargs) or device(self.device).type == own

    return disguise(_prepare_init, original)


def forward(context: Context) -> Iterator[Patch]:
    """torch generates the source of the forward, which compares the type of the device with "cuda"."""
    from torch.distributed.nn.jit.templates import remote_module_template as module

    source = getattr(module, _SOURCE, "")
    if _THEIRS not in source:
        raise Skip("this torch generates another forward for RemoteModule")
    own = source.replace(_THEIRS, f'device.type != "{context.backend.device_type}"')
    yield Patch(module, _SOURCE, own, None, note="the source of RemoteModule's forward")
