"""Cross entropy of logits whose classes are spread over devices, without gathering them.

Each device finds for each row the maximum, the sum of exponentials and the target's logit of its own classes. These three numbers
are gathered, and from them each device has the loss and the gradient of its part. The kernels are in `torch_musa._ext`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
from torch import Tensor
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.experimental import local_map

from ..utils import ext_loader

ext_module = ext_loader.load_ext("_ext", ["online_softmax", "cross_entropy_loss"])

__all__ = ["parallel_fused_cross_entropy"]

_CLASSES = [Shard(1)]


class FusedCrossEntropyLossTensorParallel(torch.autograd.Function):
    """The loss's gradient is computed with the loss and takes the place of the logits, which are lost."""

    @staticmethod
    def forward(
        ctx: Any, input: Tensor, target: Tensor, reduction: str = "mean", pg: dist.ProcessGroup | None = None
    ) -> Tensor:
        """`input` is (rows, this device's classes), `target` the rows' classes among those of all devices."""
        return _loss(ctx, input, target, reduction, pg)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None, None, None]:
        return _gradients(ctx, grad_output)  # type: ignore[no-any-return]


@partial(local_map, out_placements=[Replicate()], in_placements=(None, _CLASSES, None, None, None))
def _loss(ctx: Any, input: Tensor, target: Tensor, reduction: str, pg: dist.ProcessGroup | None) -> Tensor:
    assert reduction in ("mean", "sum"), (
        f"FusedCrossEntropyLossTensorParallel only support mean and sum reduction mode, but got {reduction} "
    )
    rank, ranks = (dist.get_rank(pg), dist.get_world_size(pg)) if pg else (0, 1)
    results = ext_module.online_softmax(input, target, rank)
    if pg and ranks > 1:
        results = collectives.all_gather_tensor(results, gather_dim=1, group=pg)
    loss: Tensor = ext_module.cross_entropy_loss(input, target, results, rank, ranks, reduction)
    ctx.save_for_backward(input.detach())
    return loss


@partial(local_map, out_placements=(_CLASSES, None, None, None), in_placements=(None, [Replicate()]))
def _gradients(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None, None, None]:
    (gradient,) = ctx.saved_tensors
    if not torch.equal(grad_output, torch.ones_like(grad_output)):
        gradient = gradient * grad_output
    return gradient, None, None, None


def parallel_fused_cross_entropy(
    input: Tensor, target: Tensor, reduction: str = "mean", pg: dist.ProcessGroup | None = None
) -> Tensor:
    """The cross entropy of `input`, a DTensor sharded by its classes over `pg`, or a tensor with all classes and no `pg`."""
    return FusedCrossEntropyLossTensorParallel.apply(input, target, reduction, pg)  # type: ignore[no-any-return, no-untyped-call]
