"""The device that the programs run on."""

from __future__ import annotations

from typing import Any

import torch


def describe() -> dict[str, Any] | None:
    """Its name, how many there are, the memory of the first in bytes and its compute capability; None where there is none."""
    if not torch.cuda.is_available():
        return None
    properties = torch.cuda.get_device_properties(0)
    return {
        "name": torch.cuda.get_device_name(0),
        "count": torch.cuda.device_count(),
        "memory_bytes": properties.total_memory,
        "capability": list(torch.cuda.get_device_capability(0)),
    }
