"""Optimizers whose whole step is one launch on the device."""

from .fused_adam import FusedAdam
from .fused_adamw import FusedAdamW
from .fused_lamb import FusedLAMB

__all__ = ["FusedAdam", "FusedAdamW", "FusedLAMB"]
