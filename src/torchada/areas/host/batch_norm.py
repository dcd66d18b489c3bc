"""torch.nn.SyncBatchNorm, which PyTorch refuses for tensors of the CPU: its steps are functions that exist for GPUs alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

_STEPS = (
    "batch_norm_stats",
    "batch_norm_gather_stats_with_counts",
    "batch_norm_elemt",
    "batch_norm_backward_reduce",
    "batch_norm_backward_elemt",
)


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    if not torch.distributed.is_available():
        raise Skip("torch was built without torch.distributed")
    steps = import_module(f"{context.backend.adapter}.batch_norm")
    for name in _STEPS:
        yield Patch(torch, name, disguise(getattr(steps, name), getattr(torch, name)), None, note="SyncBatchNorm")
    norm, parallel = torch.nn.SyncBatchNorm, torch.nn.parallel.DistributedDataParallel
    forward = disguise(_forward(torch, norm.forward), norm.forward)
    yield Patch(norm, "forward", forward, "torch.nn.SyncBatchNorm")
    note = "DistributedDataParallel takes modules with SyncBatchNorm"
    check = disguise(_accept, parallel._passing_sync_batchnorm_handle)
    yield Patch(parallel, "_passing_sync_batchnorm_handle", check, None, note=note)


def _accept(self: object, module: object) -> None:
    """torch refuses modules of the CPU here."""


def _forward(torch: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    distributed = torch.distributed

    def forward(self: Any, input: Any) -> Any:
        if not (self.training and distributed.is_initialized()):
            return original(self, input)
        group = self.process_group or distributed.group.WORLD
        size = distributed.get_world_size(group)
        if size < 2:
            return original(self, input)
        self._check_input_dim(input)
        self._check_non_zero_input_channels(input)
        running = (self.running_mean, self.running_var) if self.track_running_stats else (None, None)
        of_all = torch.nn.modules.batchnorm.sync_batch_norm
        return of_all.apply(input, self.weight, self.bias, *running, self.eps, _factor(self), group, size)

    return forward


def _factor(norm: Any) -> float:
    """How much this batch counts in the running statistics; it is counted."""
    if norm.track_running_stats:
        norm.num_batches_tracked.add_(1)
        if norm.momentum is None:
            return 1.0 / float(norm.num_batches_tracked.item())
    return 0.0 if norm.momentum is None else float(norm.momentum)
