"""Finds the device that a caller means."""

from __future__ import annotations

import os
from typing import Any

import torch

from musasim.base import release as _release

DeviceUnion = torch.device | str | int | None
#: What TORCH_MUSA_ARCH may say.
_ARCHES = ("21", "22", "31")


def _get_musa_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of `device`. None and "musa" mean the current device. With `allow_cpu`, the CPU's index is -1.

    Where the index is `optional`, whatever names none means the current device: a torch.device, and any other object.
    """
    from .device import Device, current_device

    if isinstance(device, int):
        return device
    if device is None:
        return _current_device()
    if isinstance(device, Device):
        return device.idx
    asked = torch.device(device) if isinstance(device, str) else device
    if isinstance(asked, torch.device):
        _check_type(asked, allow_cpu)
        index = -1 if asked.type == "cpu" else asked.index
        if index is not None:
            return index
    if optional or isinstance(device, str):
        return current_device()
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
    """Compute architecture of the first device as one number, such as 22; TORCH_MUSA_ARCH overrides it.

    Without a device this is 22. ValueError for a value of the variable that is no known architecture, if these are checked.
    """
    override = os.environ.get("TORCH_MUSA_ARCH")
    if override is None:
        return _first_devices_arch()
    if _checks_architectures() and override.strip() not in _ARCHES:
        raise ValueError(f"TORCH_MUSA_ARCH is {override!r}, and not one of {', '.join(_ARCHES)}")
    print(f"Using pre-defined musa arch: {int(override)}")
    return int(override)


def _checks_architectures() -> bool:
    """Whether an architecture that is asked for has to be a known one. Since 2.11.0, a variable takes any."""
    return not (_release.since("2.11.0") and os.environ.get("TORCH_MUSA_SKIP_ARCH_CHECK") == "1")


def _first_devices_arch() -> int:
    from .device import get_device_properties

    try:
        properties = get_device_properties(0)
    except Exception as error:  # whatever it is, as the real package does
        print(f"Without properties of a device, its architecture is taken to be 22: {error}")
        return 22
    return int(properties.major * 10 + properties.minor)


def _dummy_type(name: str) -> type:
    """A stand-in for a native class that this build lacks. Creating an object of it raises the error."""

    def missing(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"Tried to instantiate dummy base class {name}")

    return type(name, (object,), {"__init__": missing, "__new__": missing})
