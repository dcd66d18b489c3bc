"""TORCHADA_CUDA_CAPABILITY: the compute capability that code which sees CUDA gets in place of the chip's own.

Programs choose kernels and data types by it, and compare it with numbers of NVIDIA's chips. The chip's own numbers are much lower.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.areas.cuda._native_names import native_names
from torchada.redirect.by_view import by_view
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torchada.redirect.types import DeviceLike


def patches(context: Context) -> Iterator[Patch]:
    told = context.settings.cuda_capability
    if told is None:
        raise Skip("TORCHADA_CUDA_CAPABILITY is not set")
    cuda = context.torch.cuda
    capability = by_view(context.views, _capability(context, told), cuda.get_device_capability)
    yield Patch(cuda, "get_device_capability", capability, "torch.cuda.get_device_capability", kind="emulated")
    _, properties = native_names(context).get("_CudaDeviceProperties", ("", None))
    for name, number in zip(("major", "minor"), told, strict=True):
        if hasattr(properties, name):
            replaced = property(_number(context, number, getattr(properties, name)))
            api = f"torch.cuda.get_device_properties().{name}"
            yield Patch(properties, name, replaced, api, kind="emulated")


def _capability(context: Context, told: tuple[int, int]) -> Callable[[DeviceLike], tuple[int, int]]:
    own = context.namespace.get_device_capability

    def get_device_capability(device: DeviceLike = None) -> tuple[int, int]:
        own(device)  # refuses what is not a device
        return told

    return get_device_capability


def _number(context: Context, told: int, own: property) -> Callable[[object], object]:
    sees_cuda, frame = context.views.sees_cuda, sys._getframe

    def read(self: object) -> object:
        return told if sees_cuda(frame(1).f_globals) else own.__get__(self)

    return read
