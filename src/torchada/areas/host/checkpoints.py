"""Checkpoints tag tensors of the device as CUDA does, so that they can be exchanged with machines that have CUDA."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from torchada.areas.host._places import CPU, places_of
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.owners import Members

# Before torch's own entries, which begin with 10, the CPU's. No program has the same, which would compare functions.
_PRIORITY = 9.5
_LOCATION = re.compile(r"cuda(?::(\d+))?")


def patches(context: Context) -> Iterator[Patch]:
    serialization = context.torch.serialization
    entry = (_PRIORITY, _tagger(context), _deserializer(context))
    registry = Members(serialization, "_package_registry", lambda registered: bool(registered[0] > _PRIORITY))
    note = "torch.load of tensors of the device and of the CPU, torch.save with their tags"
    yield Patch(registry, "cuda", entry, None, note=note)
    restoring = _get_restore_location(context, serialization._get_restore_location)
    note = "torch.load reads into memory of the CPU, and map_location may leave it there"
    yield Patch(serialization, "_get_restore_location", restoring, None, note=note)


def _tagger(context: Context) -> Callable[[Any], str | None]:
    places, current = places_of(context.torch), context.namespace.current_device

    def tag(storage: Any) -> str | None:
        place = places.of_storage(storage) if storage.device.type == "cpu" else CPU
        return None if place == CPU else f"cuda:{current() if place is None else place}"

    return tag


def _deserializer(context: Context) -> Callable[[Any, str], Any]:
    places, namespace = places_of(context.torch), context.namespace

    def deserialize(storage: Any, location: str) -> Any:
        if location == "cpu":
            places.put_storage(storage, CPU)
            return storage
        match = _LOCATION.fullmatch(location)
        if match is None:
            return None
        index = namespace.current_device() if match[1] is None else int(match[1])
        if index >= namespace.device_count():
            raise RuntimeError(
                f"Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is "
                f"{namespace.device_count()}. Please use torch.load with map_location to map your storages to an existing device."
            )
        places.put_storage(storage, index)
        return storage

    return deserialize


def _get_restore_location(context: Context, original: Callable[[Any], Callable[..., Any]]) -> Callable[..., Any]:
    places = places_of(context.torch)

    def _get_restore_location(map_location: Any) -> Callable[..., Any]:
        restore = original(map_location)

        def restore_location(storage: Any, location: str) -> Any:
            restored = restore(storage, location)
            untyped = getattr(restored, "_untyped_storage", restored)
            if untyped is not None and untyped.device.type == "cpu" and places.of_storage(untyped) is None:
                places.put_storage(untyped, CPU)
            return restored

        return restore_location

    return disguise(_get_restore_location, original)
