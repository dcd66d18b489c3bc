"""Tensor.device, .is_cuda and .get_device, by who asks: code that sees CUDA finds them on the device, torch finds the CPU's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.host._places import CPU, places_of
from torchada.areas.host._targets import Targets
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
    get_device = _get_device(context, index, torch.Tensor)
    yield Patch(torch.Tensor, "get_device", get_device, "Tensor.get_device")
    of_storage = _index_of_storage(context)
    for owner in (torch.UntypedStorage, torch.TypedStorage):
        yield Patch(owner, "is_cuda", _is_cuda_storage(context), f"{owner.__name__}.is_cuda")
        get_device = _get_device(context, of_storage, owner)
        yield Patch(owner, "get_device", get_device, f"{owner.__name__}.get_device")
    cuda = torch.cuda
    properties = type(context.namespace.get_device_properties(None))
    yield Patch(cuda, "_CudaDeviceProperties", properties, "torch.cuda._CudaDeviceProperties")
    init = _device_of(torch, index, of_storage)
    yield Patch(cuda.device_of, "__init__", init, "torch.cuda.device_of")


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
    standing_for = places_of(context.torch).standing_for

    def get(self: Tensor) -> Device:
        number = index(self)
        if number == CPU:
            own: Device = original(self)
            return own
        if not sees_cuda(frame(1).f_globals):
            standing: Device = standing_for(number)
            return standing
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


def _get_device(context: Context, index: Callable[[Any], int], owner: Any) -> Callable[[Any], int]:
    original: Callable[[Any], int] = owner.get_device
    sees_cuda, frame = context.views.sees_cuda, sys._getframe

    def get_device(self: Any) -> int:
        number = index(self) if sees_cuda(frame(1).f_globals) else CPU
        return original(self) if number == CPU else number

    return disguise(get_device, original, f"{owner.__name__}.get_device")


def _is_cuda_storage(context: Context) -> property:
    index = _index_of_storage(context)
    sees_cuda, frame = context.views.sees_cuda, sys._getframe

    def is_cuda(self: Any) -> bool:
        return sees_cuda(frame(1).f_globals) and index(self) != CPU

    return property(is_cuda)


def _index_of_storage(context: Context) -> Callable[[Any], int]:
    """The same as `_index` for storages."""
    places, current = places_of(context.torch), context.namespace.current_device

    def index(storage: Any) -> int:
        untyped = getattr(storage, "_untyped_storage", storage)
        place = places.of_storage(untyped) if untyped.device.type == "cpu" else CPU
        return current() if place is None else place

    return index


def _device_of(torch: Any, of_tensor: Callable[[Any], int], of_storage: Callable[[Any], int]) -> Callable[..., None]:
    """torch itself sees the CPU, and would find nothing on the device."""
    device, original = torch.cuda.device, torch.cuda.device_of.__init__

    def __init__(self: Any, obj: Any) -> None:
        device.__init__(self, of_tensor(obj) if isinstance(obj, torch.Tensor) else of_storage(obj))

    return disguise(__init__, original)
