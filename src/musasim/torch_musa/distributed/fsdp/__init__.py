"""What torch_musa changes of FullyShardedDataParallel."""

from __future__ import annotations

from typing import Any

__all__ = ["ShardedGradScaler"]


def __getattr__(name: str) -> Any:
    """The scaler imports much of torch.distributed, which this package by itself does not need."""
    if name != "ShardedGradScaler":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .sharded_grad_scaler import ShardedGradScaler

    return ShardedGradScaler
