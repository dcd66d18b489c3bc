"""Checkpoints: written with CUDA's tags, so that a CUDA machine reads them; read with CUDA's tags and the backend's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

# Before every other package: torch's are at 10 and up, torch_musa's at 999.
_PRIORITY = 5


def patches(context: Context) -> Iterator[Patch]:
    serialization = context.torch.serialization
    package = (_PRIORITY, _tagger(context), _deserializer(context))
    registry = sorted([*serialization._package_registry, package], key=lambda entry: entry[0])
    yield Patch(
        serialization, "_package_registry", registry, None, note='torch.load of "cuda:N", torch.save with such tags'
    )
    tensor = context.torch.Tensor
    reduce = _reduce(context, tensor._reduce_ex_internal)
    yield Patch(tensor, "_reduce_ex_internal", reduce, None, note="torch.save of sparse tensors, with cuda's tag")


def _tagger(context: Context) -> Callable[[Any], str | None]:
    device_type = context.backend.device_type

    def cuda_tag(storage: Any) -> str | None:
        device = storage.device
        return f"cuda:{device.index}" if device.type == device_type else None

    return cuda_tag


def _deserializer(context: Context) -> Callable[[Any, str], Any]:
    location_of = re.compile(rf"(?:cuda|{context.backend.device_type})(?::(\d+))?")

    def cuda_deserialize(storage: Any, location: str) -> Any:
        match = location_of.fullmatch(location)
        return storage.to(device=_device(context, location, match[1])) if match else None

    return cuda_deserialize


def _reduce(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    """PyTorch saves a tensor of such a device that has no storage, a sparse one, with the device's name as a string."""
    device_type = context.backend.device_type

    def _reduce_ex_internal(self: Any, proto: Any) -> Any:
        rebuild, args = original(self, proto)
        if self.device.type != device_type:
            return rebuild, args
        own, tag = str(self.device), f"cuda:{self.device.index}"
        return rebuild, tuple(tag if isinstance(value, str) and value == own else value for value in args)

    return disguise(_reduce_ex_internal, original)


def _device(context: Context, location: str, index: str | None) -> Any:
    """The device of a location tag; its absence is a RuntimeError that says what to do, as on CUDA."""
    namespace, device_type = context.namespace, context.backend.device_type
    if not namespace.is_available():
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {location!r} but no {context.backend.name} device is available. "
            "Please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
        )
    number = namespace.current_device() if index is None else int(index)
    count = namespace.device_count()
    if number >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {number} but torch.cuda.device_count() is {count}. "
            "Please use torch.load with map_location to map your storages to an existing device."
        )
    return context.torch.device(device_type, number)
