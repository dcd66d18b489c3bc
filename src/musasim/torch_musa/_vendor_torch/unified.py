"""Where host tensors lie in unified memory, a storage that is moved to the device stays where it is, and is said to be there.

torch.load with a map_location needs no second copy then. PYTORCH_MUSA_ALLOC_CONF=cpu:unified and `use_unified_cpu_allocator` ask
for it.
"""

from __future__ import annotations

import os
from typing import Any

import torch


def install() -> None:
    module: Any = torch.storage
    module._to = _staying(module._to)


def _staying(copy: Any) -> Any:
    def _to(self: Any, device: torch.device, non_blocking: bool = False) -> Any:
        unified = os.environ.get("CPU_UNIFIED_FLAG") == "True"
        if not unified or device.type == "cpu" or self.device == device:
            return copy(self, device, non_blocking)
        self.edit_device(device)
        return self

    return _to
