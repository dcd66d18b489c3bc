"""What the vendor's torch changes of torch.distributed: `is_mccl_available`, and groups that connect when they are made.

Where a device is named, torch connects a group at once if its communicators can be split, and the vendor's does so for every group.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch


def is_mccl_available() -> bool:
    """Whether torch_musa was built with MCCL."""
    return hasattr(torch.distributed.distributed_c10d, "ProcessGroupMCCL")


def install() -> None:
    if torch.distributed.is_available():
        module: Any = torch.distributed.distributed_c10d
        if not hasattr(module, "is_mccl_available"):  # not when this package is imported again
            module._new_process_group_helper = _connecting(module._new_process_group_helper)
        module.is_mccl_available = is_mccl_available


def _connecting(make: Callable[..., Any]) -> Callable[..., Any]:
    parameters = inspect.signature(make)

    @functools.wraps(make)
    def _new_process_group_helper(*args: Any, **kwargs: Any) -> Any:
        group, store = make(*args, **kwargs)
        device = parameters.bind(*args, **kwargs).arguments.get("device_id")
        if device and isinstance(group, torch.distributed.ProcessGroup):
            backend: Any = group._get_backend(device)
            backend.eager_connect_single_device(device)
        return group, store

    return _new_process_group_helper
