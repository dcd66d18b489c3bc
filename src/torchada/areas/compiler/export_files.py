"""Files of torch.export.save: written with CUDA's names, so that a CUDA machine can read them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    serialize: Any = importlib.import_module("torch._export.serde.serialize")
    device = _written(context, serialize.Device)
    yield Patch(serialize, "Device", device, None, note="torch.export.save writes CUDA's names")


def _written(context: Context, record: Callable[..., object]) -> Callable[..., object]:
    """torch makes such a record of each device that it writes, and of none that it reads."""
    device_type = context.backend.device_type

    def Device(type: str, index: int | None = None) -> object:
        return record(type="cuda" if type == device_type else type, index=index)

    return Device
