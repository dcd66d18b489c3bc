"""`torch.distributed.is_mccl_available`, which the vendor's torch has beside the functions for other backends."""

from __future__ import annotations

from typing import Any

import torch


def is_mccl_available() -> bool:
    """Whether torch_musa was built with MCCL."""
    return hasattr(torch.distributed.distributed_c10d, "ProcessGroupMCCL")


def install() -> None:
    if torch.distributed.is_available():
        module: Any = torch.distributed.distributed_c10d
        module.is_mccl_available = is_mccl_available
