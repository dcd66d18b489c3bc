"""The process group `mccl`, made known to torch.distributed. In the real package its native part does this."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch

from .. import _MUSAC


def _create(store: Any, rank: int, world_size: int, timeout: timedelta) -> Any:
    """What `init_process_group("mccl")` and `new_group` make for this process."""
    return _MUSAC.ProcessGroupMCCL(store, rank, world_size, timeout)


def register_process_group() -> None:
    """Let "mccl" name the process group, and be the default for tensors of the device."""
    if not torch.distributed.is_available():
        return
    distributed: Any = torch.distributed
    group = _MUSAC.ProcessGroupMCCL
    group.__module__ = "torch.distributed.distributed_c10d"
    distributed.ProcessGroupMCCL = distributed.distributed_c10d.ProcessGroupMCCL = group
    # The vendor's torch takes "musa"; PyPI's looks at a string letter by letter.
    distributed.Backend.register_backend("mccl", _create, devices=["musa"])
