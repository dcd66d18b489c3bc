"""The gradient scaler for sharded training: torch's own, on torch_musa's scaler."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import Any

import torch
import torch.distributed as dist
from torch.amp.grad_scaler import OptState, _MultiDeviceReplicator
from torch.distributed.fsdp import sharded_grad_scaler as torchs

from ...core.amp.grad_scaler import GradScaler

log = logging.getLogger(__name__)

_torchs: Any = torchs.ShardedGradScaler


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _is_supported_device(tensor: torch.Tensor) -> bool:
    return tensor.device.type in ("musa", "cpu")


class _GeneralMultiDeviceReplicator(_MultiDeviceReplicator):
    """A tensor's copies on other devices, the CPU among them."""

    def __init__(self, master_tensor: torch.Tensor) -> None:
        assert _is_supported_device(master_tensor)
        self.master = master_tensor
        self._per_device_tensors = {}


class ShardedGradScaler(GradScaler):
    """As torch's class of this name, without its first argument, the device: it is this one."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: dist.ProcessGroup | None = dist.group.WORLD,
    ) -> None:
        super().__init__(init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        if self._enabled:
            self.process_group = process_group
            self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    # Infinities found on one rank count on all of them, and tensors on the host are taken too.
    scale = _torchs.scale
    _unscale_grads_ = _torchs._unscale_grads_
    unscale_ = _torchs.unscale_
    _amp_update_scale_cpu_ = _torchs._amp_update_scale_cpu_
    update = _torchs.update


vars(torchs)["ShardedGradScaler"] = ShardedGradScaler
