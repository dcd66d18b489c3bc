"""What a device can do, by the runtime's attributes, under Triton's names."""

from __future__ import annotations

import ctypes
from typing import Any

# Numbers of musaDeviceAttr.
_MAX_THREADS = 1
_ATTRIBUTES = {
    "max_shared_mem": 97,
    "max_num_regs": 12,
    "multiprocessor_count": 16,
    "warpSize": 10,
    "sm_clock_rate": 13,
    "mem_clock_rate": 36,
    "mem_bus_width": 37,
}


def musa_module() -> Any:
    """torch.musa."""
    import torch

    return torch.musa  # type: ignore[attr-defined]


def device_properties(device: int) -> dict[str, int]:
    """Limits of `device`, under Triton's names."""
    return {name: _attribute(number, device) for name, number in _ATTRIBUTES.items()}


def max_threads(device: int) -> int:
    """The largest number of threads in a block of `device`."""
    return _attribute(_MAX_THREADS, device)


def _attribute(number: int, device: int) -> int:
    """musaDeviceGetAttribute, of the runtime that torch_musa's native part contains."""
    value = ctypes.c_int()
    runtime = ctypes.CDLL(musa_module()._MUSAC.__file__)
    if runtime.musaDeviceGetAttribute(ctypes.byref(value), number, device):
        raise RuntimeError(f"Triton Error [MUSA]: invalid device ordinal {device}")
    return value.value
