"""torch.device and the other types whose constructor takes a device: Generator, Stream, Event, UntypedStorage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect import native
from torchada.redirect.calls import positional
from torchada.redirect.constructors import New, redirect_new
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.entry_point import EntryPoint
from torchada.redirect.kept_names import name_by_view

if TYPE_CHECKING:
    from torchada.redirect.types import Device, DeviceLike


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    yield from _native(context) if context.mechanism.native else _portable(context)
    yield Patch(torch.device, "__reduce__", _reduce(context), None, note="a saved device can be read on a CUDA machine")
    get_module = _get_device_module(context, torch.get_device_module)
    yield Patch(torch, "get_device_module", get_module, 'torch.get_device_module("cuda")')
    available = name_by_view(context, torch._utils._get_available_device_type)
    yield Patch(torch._utils, "_get_available_device_type", available, "torch._utils._get_available_device_type")


def _native(context: Context) -> Iterator[Patch]:
    yield native.patch(context.backend.device_type)


def _portable(context: Context) -> Iterator[Patch]:
    torch, devices = context.torch, context.devices
    yield from redirect_new(torch.device, lambda new: _device_new(context, new), 'torch.device("cuda")')
    for name in ("Generator", "Stream", "Event"):
        if hasattr(torch, name):
            yield from redirect_new(
                getattr(torch, name), lambda new: positional(new, devices, 1), f'torch.{name}("cuda")'
            )
    new = staticmethod(positional(torch.UntypedStorage.__new__, devices, 2))
    yield Patch(torch.UntypedStorage, "__new__", new, 'torch.UntypedStorage(n, device="cuda")')


def _device_new(context: Context, construct: New) -> New:
    """The constructor of torch.device. Devices are values without state, so a device that was made once is returned again."""
    names = context.devices
    find = dict(_known_devices(context)).get
    in_mode = context.torch._C._is_torch_function_mode_enabled

    def __new__(cls: type, *args: object, **kwargs: object) -> object:
        # Indices that are equal to a number but are none, such as True or 1.0, are torch's to refuse.
        # So are strings of a class of their own, which may say that they equal anything.
        is_usual = type(args[0]) is str or not isinstance(args[0], str) if args else False
        if is_usual and not kwargs and (len(args) < 2 or type(args[1]) is int):
            try:
                device = find(args)
            except TypeError:  # unhashable: torch's own error names it
                device = None
            # A __torch_function__ mode has to see the call, and the C constructor passes it on.
            if device is not None and not in_mode():
                return device
        # Torch reads what the user wrote, and refuses it in its own words.
        return names.translate(construct(cls, *args, **kwargs))

    return __new__


def _known_devices(context: Context) -> Iterator[tuple[tuple[object, ...], Device]]:
    device, device_type = context.torch.device, context.backend.device_type
    for index in (None, *range(128)):
        suffix = "" if index is None else f":{index}"
        own = device(f"{device_type}{suffix}")
        for name in ("cuda", device_type):
            yield (f"{name}{suffix}",), own
            if index is not None:
                yield (name, index), own
        yield (own,), own
    for name in ("cpu", "meta"):
        yield (name,), device(name)
        yield (device(name),), device(name)


def _reduce(context: Context) -> Callable[[Device], tuple[type[Device], tuple[str | int, ...]]]:
    device, device_type = context.torch.device, context.backend.device_type

    def __reduce__(self: Device) -> tuple[type[Device], tuple[str | int, ...]]:
        name = "cuda" if self.type == device_type else self.type
        return device, (name,) if self.index is None else (name, self.index)

    return __reduce__


def _get_device_module(context: Context, original: Callable[[DeviceLike], object]) -> EntryPoint:
    def get_device_module(device: DeviceLike = None) -> object:
        if isinstance(device, str) and device in context.devices.table:
            return context.torch.cuda
        return original(device)

    return EntryPoint(original, get_device_module)
