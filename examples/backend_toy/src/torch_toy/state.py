"""What the toy remembers: which device is current in each thread, and the generator of each device."""

from __future__ import annotations

import os
import threading
from functools import cache

import torch


def _visible() -> int:
    """How many of the two devices TOY_VISIBLE_DEVICES leaves visible."""
    named = os.environ.get("TOY_VISIBLE_DEVICES", "0,1")
    return len({"0", "1"}.intersection(named.split(",")))


DEVICES = _visible()

_thread = threading.local()


def current_device() -> int:
    index: int = getattr(_thread, "device", 0)
    return index


def set_device(index: int) -> None:
    if not 0 <= index < DEVICES:
        raise RuntimeError(f"invalid device ordinal {index}: the toy has {DEVICES} devices")
    _thread.device = index


@cache
def generator(index: int) -> torch.Generator:
    """The generator that kernels on device `index` draw from. It is the CPU's kind, as the kernels are."""
    return torch.Generator("cpu").manual_seed(0)
