"""Devices: the current one as the default, architectures as flags, and reports of waits."""

from __future__ import annotations

from typing import Any

from ... import _MUSAC
from ...core import device
from ...core._lazy_init import _lazy_init
from ...core._utils import DeviceUnion

_properties = device.get_device_properties
_LEVELS = {"default": 0, "warn": 1, "error": 2}


def get_device_properties(device: DeviceUnion = None) -> Any:
    """Name, capability, size and the like."""
    return _properties(device)


def get_gencode_flags() -> str:
    """The flags for mcc that name the architectures the library was built for."""
    return " ".join(f"--offload-arch=mp_{arch.removeprefix('mp_')}" for arch in device.get_arch_list())


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Nothing ("default" or 0), a warning ("warn" or 1) or an error ("error" or 2) where the host waits for the device."""
    _lazy_init()
    if isinstance(debug_mode, str):
        if debug_mode not in _LEVELS:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
        debug_mode = _LEVELS[debug_mode]
    _MUSAC._musa_set_sync_debug_mode(debug_mode)


def get_sync_debug_mode() -> int:
    """The mode as a number."""
    _lazy_init()
    return int(_MUSAC._musa_get_sync_debug_mode())
