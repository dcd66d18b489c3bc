"""torch.save and torch.load for storages on the device."""

from __future__ import annotations

from typing import Any

import torch
from torch.serialization import _package_registry, register_package

_REGISTRATION_KEY = 999


def _validate_musa_device(location: str) -> int:
    """The index in `location`. Raises RuntimeError if there is no such device."""
    device = torch.device(location)
    index = torch._utils._get_device_index(device, optional=True, allow_cpu=False) or 0
    if not torch.musa.is_available():  # type: ignore[attr-defined]
        raise RuntimeError(
            "Attempting to deserialize object on a MUSA device but torch.musa.device.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        )
    count = torch.musa.device_count()  # type: ignore[attr-defined]
    if index >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on MUSA device {index} but torch.musa.device.device_count() is {count}. "
            "Please use torch.load with map_location to map your storages to an existing device."
        )
    return index


def _musa_tag(obj: Any) -> str | None:
    return f"musa:{obj.device.index}" if obj.device.type == "musa" else None


def _musa_deserialize(obj: Any, location: str) -> Any:
    if not location.startswith("musa"):
        return None
    index = _validate_musa_device(location)
    if getattr(obj, "_torch_load_uninitialized", False):
        with torch.musa.device(index):  # type: ignore[attr-defined]
            storage: Any = torch.UntypedStorage
            return storage(obj.nbytes(), device=torch.device(location))
    return obj.musa(index)


def _cuda_deserialize(_: Any, location: str) -> None:
    if location.startswith("cuda"):
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running "
            "on a MUSA enabled machine, please use torch.load with map_location=torch.device('musa') or "
            "map_location=torch.device('cpu') to map your storages to the MUSA or CPU."
        )


def register_deserialization() -> None:
    if any(
        priority == _REGISTRATION_KEY and tagger.__module__ == __name__ for priority, tagger, _ in _package_registry
    ):
        return
    register_package(_REGISTRATION_KEY, _musa_tag, _musa_deserialize)
    # torch registers CUDA at index 1, after the CPU.
    priority, tagger, _ = _package_registry[1]
    _package_registry[1] = (priority, tagger, _cuda_deserialize)
