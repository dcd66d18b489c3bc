"""Tensor.device, .is_cuda and .get_device, by who asks: code that sees CUDA finds them on the device, torch finds the CPU's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.host._targets import Targets
from torchada.host.memory import CPU, places_of
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torchada.redirect.types import Device, Tensor


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    index = _index(context)
    yield Patch(torch.Tensor, "device", _device(context, index), None, note="Tensor.device by who asks")
    yield Patch(torch.Tensor, "is_cuda", _is_cuda(context, index), "Tensor.is_cuda")
    yield Patch(torch.Tensor, "is_cpu", _is_cpu(context, index), None, note="Tensor.is_cpu by who asks")
    packed = torch.nn.utils.rnn.PackedSequence
    is_cuda = property(lambda self: index(self.data) != CPU)
    yield Patch(packed, "is_cuda", is_cuda, "torch.nn.utils.rnn.PackedSequence.is_cuda")
    get_device = _get_device(context, index, torch.Tensor.get_device)
    yield Patch(torch.Tensor, "get_device", get_device, "Tensor.get_device")
    for owner in (torch.UntypedStorage, torch.TypedStorage):
        yield Patch(owner, "is_cuda", _is_cuda_storage(context), f"{owner.__name__}.is_cuda")


def _index(context: Context) -> Callable[[Tensor], int]:
    """The number of the device that a tensor counts as being on, or CPU for all others."""
    is_cpu = context.torch._C.TensorBase.is_cpu.__get__
    where = Targets(context, places_of(context.torch)).where

    def index(tensor: Tensor) -> int:
        return where(tensor) if is_cpu(tensor) else CPU

    return index


def _device(context: Context, index: Callable[[Tensor], int]) -> property:
    original, device = context.torch._C.TensorBase.device.__get__, context.torch.device
    sees_cuda, frame = context.views.sees_cuda, sys._getframe
    devices: dict[int, Device] = {}

    def get(self: Tensor) -> Device:
        number = index(self) if sees_cuda(frame(1).f_globals) else CPU
        if number == CPU:
            own: Device = original(self)
            return own
        return devices.get(number) or devices.setdefault(number, device("cuda", number))

    return property(get)


def _is_cuda(context: Context, index: Callable[[Tensor], int]) -> property:
    original = context.torch._C.TensorBase.is_cuda.__get__
    sees_cuda, frame = context.views.sees_cuda, sys._getframe

    def is_cuda(self: Tensor) -> bool:
        return index(self) != CPU if sees_cuda(frame(1).f_globals) else bool(original(self))

    return property(is_cuda)


def _is_cpu(context: Context, index: Callable[[Tensor], int]) -> property:
    original = context.torch._C.TensorBase.is_cpu.__get__
    sees_cuda, frame = context.views.sees_cuda, sys._getframe

    def is_cpu(self: Tensor) -> bool:
        return bool(original(self)) and not (sees_cuda(frame(1).f_globals) and index(self) != CPU)

    return property(is_cpu)


def _get_device(
    context: Context, index: Callable[[Tensor], int], original: Callable[[Tensor], int]
) -> Callable[[Tensor], int]:
    sees_cuda, frame = context.views.sees_cuda, sys._getframe

    def get_device(self: Tensor) -> int:
        number = index(self) if sees_cuda(frame(1).f_globals) else CPU
        return original(self) if number == CPU else number

    return disguise(get_device, original, "Tensor.get_device")


def _is_cuda_storage(context: Context) -> property:
    places = places_of(context.torch)
    sees_cuda, frame = context.views.sees_cuda, sys._getframe

    def is_cuda(self: Any) -> bool:
        storage = getattr(self, "_untyped_storage", self)
        return sees_cuda(frame(1).f_globals) and storage.device.type == "cpu" and places.of_storage(storage) != CPU

    return property(is_cuda)
