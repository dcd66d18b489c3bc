"""Finds the device that a caller means."""

from __future__ import annotations

import os
from typing import Any

import torch

DeviceUnion = torch.device | str | int | None


def _get_musa_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of `device`. None and "musa" mean the current device. With `allow_cpu`, the CPU's index is -1.

    A torch.device without an index is accepted only where the index is `optional`.
    """
    if isinstance(device, int):
        return device
    if device is None or device == "musa":
        return _current_device()
    asked = torch.device(device) if isinstance(device, str) else device
    if isinstance(asked, torch.device):
        _check_type(asked, allow_cpu)
        if asked.type == "cpu":
            return -1
        if asked.index is not None:
            return asked.index
        if optional:
            return _current_device()
    raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")


def _check_type(device: torch.device, allow_cpu: bool) -> None:
    expected = ("musa", "cpu") if allow_cpu else ("musa",)
    if device.type not in expected:
        raise ValueError(f"Expected a {' or '.join(expected)} device, but got: {device}")


def _current_device() -> int:
    from .device import current_device, is_available

    if not is_available():
        raise ValueError("Moore Threads GPUs are not available")
    return current_device()


def _get_musa_arch() -> int:
    """Compute architecture as one number, such as 22; TORCH_MUSA_ARCH overrides what the device reports."""
    from .device import get_device_capability

    override = os.environ.get("TORCH_MUSA_ARCH")
    if override is not None:
        return int(override)
    major, minor = get_device_capability()
    return major * 10 + minor


def _dummy_type(name: str) -> type:
    """A stand-in for a native class that this build lacks. Creating an object of it raises the error."""

    def missing(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"Tried to instantiate dummy base class {name}")

    return type(name, (object,), {"__init__": missing, "__new__": missing})
