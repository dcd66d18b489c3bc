"""What takes a device and makes no tensor: torch.device with a number, storages, torch.get_device_module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.host._places import places_of
from torchada.areas.host._targets import Targets
from torchada.redirect.calls import disguise, positional
from torchada.redirect.constructors import New, redirect_new
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.entry_point import EntryPoint

if TYPE_CHECKING:
    from torchada.redirect.types import Device, DeviceLike


def patches(context: Context) -> Iterator[Patch]:
    torch, devices = context.torch, context.devices
    yield from redirect_new(torch.device, _numbered, "torch.device(0)")
    new = staticmethod(_storage(context, positional(torch.UntypedStorage.__new__, devices, 2)))
    yield Patch(torch.UntypedStorage, "__new__", new, 'torch.UntypedStorage(n, device="cuda")')
    base = torch.storage._StorageBase
    note = "copies of storages, as copy.deepcopy makes them, are where the original is"
    yield Patch(base, "clone", _clone(context, base.clone), None, note=note)
    module = _get_device_module(context, torch.get_device_module)
    yield Patch(torch, "get_device_module", module, 'torch.get_device_module("cuda")')
    default = _get_default_device(context, torch.get_default_device)
    yield Patch(torch, "get_default_device", default, "torch.get_default_device")


def _numbered(construct: New) -> New:
    """torch.device(1) is a device of the accelerator, which torch does not find here."""

    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and type(args[0]) is int and not kwargs:
            return construct(cls, "cuda", args[0])
        return construct(cls, *args, **kwargs)

    return __new__


def _storage(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    places = places_of(context.torch)
    targets = Targets(context, places)

    def __new__(cls: type, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        index = None if device is None else targets.index(device)
        if device is None:
            return original(cls, *args, **kwargs)
        made = original(cls, *args, device=device, **kwargs)
        if index is not None:
            places.put_storage(made, index)
        return made

    return disguise(__new__, original)


def _clone(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    places, current = places_of(context.torch), context.namespace.current_device

    def clone(self: Any) -> Any:
        made, place = original(self), places.of_storage(self)
        if made.device.type == "cpu":
            places.put_storage(made, current() if place is None else place)
        return made

    return disguise(clone, original)


def _get_device_module(context: Context, original: Callable[[DeviceLike], object]) -> EntryPoint:
    def get_device_module(device: Any = None) -> object:
        return context.torch.cuda if device in context.devices.table else original(device)

    return EntryPoint(original, get_device_module)


def _get_default_device(context: Context, original: Callable[[], Device]) -> EntryPoint:
    """torch asks a new tensor for its device where the default has no index."""
    torch, current = context.torch, context.namespace.current_device

    def get_default_device() -> Device:
        made = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
        if made is not None and made.device.type == "cuda" and made.device.index is None:
            own: Device = torch.device("cuda", current())
            return own
        return original()

    return EntryPoint(original, get_default_device)
