"""torch.save and torch.load for storages on the device."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch.serialization import _package_registry, register_package

_REGISTRATION_KEY = 999
_ADVICE = "Please use torch.load with map_location to map your storages to an existing musa device or to the cpu."


def _validate_musa_device(location: str) -> int:
    """The index in `location`. Raises RuntimeError if there is no such device."""
    index = torch.device(location).index or 0
    if not torch.musa.is_available():  # type: ignore[attr-defined]
        raise RuntimeError(
            f"Attempting to deserialize object on a MUSA device but torch.musa.is_available() is False. {_ADVICE}"
        )
    count = torch.musa.device_count()  # type: ignore[attr-defined]
    if index >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on MUSA device {index} but torch.musa.device_count() is {count}. {_ADVICE}"
        )
    return index


def _musa_tag(obj: Any) -> str | None:
    return f"musa:{obj.device.index}" if obj.device.type == "musa" else None


def _musa_deserialize(obj: Any, location: str) -> Any:
    if re.match(r"musa(:|$)", location):
        return obj.musa(_validate_musa_device(location))
    return None


def _cuda_deserialize(_: Any, location: str) -> None:
    if re.match(r"cuda(:|[0-9]+|$)", location):
        raise RuntimeError(f"This file was saved with tensors on {location!r}, and there is no CUDA here. {_ADVICE}")


def register_deserialization() -> None:
    if any(
        priority == _REGISTRATION_KEY and tagger.__module__ == __name__ for priority, tagger, _ in _package_registry
    ):
        return
    register_package(_REGISTRATION_KEY, _musa_tag, _musa_deserialize)
    # torch registers CUDA at index 1, after the CPU.
    priority, tagger, _ = _package_registry[1]
    _package_registry[1] = (priority, tagger, _cuda_deserialize)
