"""The source of RemoteModule's forward, which compares the type of its device with "cuda"."""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

_NAME = "_REMOTE_FORWARD_TEMPLATE_ENABLE_MOVING_CPU_TENSORS_TO_CUDA"
_THEIRS = 'device.type != "cuda"'


def patches(context: Context) -> Iterator[Patch]:
    from torch.distributed.nn.jit.templates import remote_module_template as module

    source = getattr(module, _NAME, "")
    if _THEIRS not in source:
        raise Skip("this torch writes RemoteModule's forward in another way")
    own = source.replace(_THEIRS, f'device.type != "{context.backend.device_type}"')
    yield Patch(module, _NAME, own, 'torch.distributed.nn.RemoteModule("worker/cuda:0").forward')
