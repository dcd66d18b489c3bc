"""`torch.musa.amp.GradScaler`."""

from __future__ import annotations

import warnings

import torch
from torch.amp.grad_scaler import OptState, _MultiDeviceReplicator  # noqa: F401  (torch_musa's own modules import them from here)

from .common import _musa_device, amp_definitely_not_available


class GradScaler(torch.amp.grad_scaler.GradScaler):
    """torch.amp.GradScaler("musa"), without a device too."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and amp_definitely_not_available():
            warnings.warn("torch.musa.amp.GradScaler is enabled, but MUSA is not available.  Disabling.", stacklevel=2)
            enabled = False
        super().__init__(
            _musa_device,
            init_scale=init_scale,
            growth_factor=growth_factor,
            backoff_factor=backoff_factor,
            growth_interval=growth_interval,
            enabled=enabled,
        )
