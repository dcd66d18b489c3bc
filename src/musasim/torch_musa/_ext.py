"""What torch_musa compiles beside its operators: updates of many tensors in one launch, and cross entropy over several devices.

Here each tensor is updated by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .core.ops._adam import Adam as _Adam

Tensors = Sequence[Tensor]


def fused_adam(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    max_exp_avg_sqs: Tensors,
    state_steps: Tensors,
    lr: float | Tensor,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """One step of Adam in place; `state_steps` are counters on the host. Weight decay is added to the gradient."""
    update = _Adam(lr, beta1, beta2, weight_decay, eps, maximize, False, grad_scale, found_inf)
    update.apply(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs if amsgrad else None, state_steps)


def fused_adamw(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    max_exp_avg_sqs: Tensors,
    state_steps: Tensors,
    lr: float | Tensor,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """As fused_adam, but weight decay shrinks the parameter and does not touch the gradient."""
    update = _Adam(lr, beta1, beta2, weight_decay, eps, maximize, True, grad_scale, found_inf)
    update.apply(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs if amsgrad else None, state_steps)


def multi_tensor_l2norm(
    chunk_size: int, noop_flag: Tensor, tensor_lists: Sequence[Tensors], per_tensor: bool | None = False
) -> tuple[Tensor, Tensor]:
    """The norm of all tensors together, of shape (1,), and, if asked for, that of each one; both in float32."""
    norms = torch.stack([tensor.float().norm() for tensor in tensor_lists[0]])
    by_tensor = norms if per_tensor else norms.new_empty(0)
    return norms.norm().reshape(1), by_tensor


def multi_tensor_lamb(
    chunk_size: int,
    noop_flag: Tensor,
    tensor_lists: Sequence[Tensors],
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    step: int,
    bias_correction: int,
    weight_decay: float,
    grad_averaging: int,
    mode: int,
    global_grad_norm: Tensor,
    max_grad_norm: float,
    use_nvlamb: bool | None = False,
) -> None:
    """One step of LAMB in place. `tensor_lists` are gradients, parameters and both averages; gradients become the updates."""
    grads, params, exp_avgs, exp_avg_sqs = tensor_lists
    _, before = multi_tensor_l2norm(chunk_size, noop_flag, [params], True)
    clip = torch.clamp(global_grad_norm / max_grad_norm, min=1.0)
    corrections = (1 - beta1**step, 1 - beta2**step) if bias_correction == 1 else (1.0, 1.0)
    share = 1 - beta1 if grad_averaging == 1 else 1.0
    decay_first = mode == 0
    for grad, param, first, second in zip(grads, params, exp_avgs, exp_avg_sqs):
        gradient = grad.float() / clip + (weight_decay * param.float() if decay_first else 0)
        first.copy_(first.float() * beta1 + share * gradient)
        second.copy_(second.float() * beta2 + (1 - beta2) * gradient * gradient)
        update = (first.float() / corrections[0]) / ((second.float() / corrections[1]).sqrt() + epsilon)
        grad.copy_(update if decay_first else update + weight_decay * param.float())
    _, updates = multi_tensor_l2norm(chunk_size, noop_flag, [grads], True)
    adaptive = bool(use_nvlamb) or weight_decay != 0
    ratios = torch.where((updates != 0) & (before != 0), before / updates, 1.0)
    for param, grad, ratio in zip(params, grads, ratios):
        param.sub_((lr * (ratio if adaptive else 1.0) * grad.float()).to(param.dtype))


def online_softmax(logits: Tensor, targets: Tensor, rank: int) -> Tensor:
    """For each row of this device's classes: the maximum, the sum of exp(logit - maximum), the target's logit if it is there."""
    _require(logits.dim() == 2 and targets.dim() == 1, "Expect logits have 2D shape and targets have 1D shape")
    _require(logits.is_contiguous(), "only support contiguous logits")
    _require(targets.is_contiguous(), "only support contiguous targets")
    values = _values("online_softmax", logits)
    largest = values.max(1, keepdim=True).values
    sums = (values - largest).exp().sum(1, keepdim=True)
    place, here = _target_place(values, targets, rank)
    target = torch.where(here, values.gather(1, place), -torch.inf)
    return torch.cat([largest, sums, target], 1).to(logits.dtype)


def cross_entropy_loss(
    logits: Tensor, targets: Tensor, gathered_max_sum_y: Tensor, rank: int, world_size: int, reduction: str
) -> Tensor:
    """The loss of all rows, of shape (1,), from what `online_softmax` gave on each device. The gradient overwrites the logits."""
    values = _values("cross_entropy_loss", logits)
    _require(reduction in ("mean", "sum"), f"Unsupported reduction mode: {reduction}")
    largest, sums, target = gathered_max_sum_y.to(values.dtype).reshape(-1, world_size, 3).unbind(2)
    most = largest.max(1, keepdim=True).values
    total = (sums * (largest - most).exp()).sum(1, keepdim=True)
    losses = most + total.log() - target.max(1, keepdim=True).values
    place, here = _target_place(values, targets, rank)
    gradient = ((values - most).exp() / total).scatter_add(1, place, -here.to(values.dtype))
    share = len(values) if reduction == "mean" else 1
    logits.data.copy_(gradient / share)
    return (losses.sum(0) / share).to(logits.dtype)  # no view, so that a program may change it


def _require(fine: bool, error: str) -> None:
    if not fine:
        raise RuntimeError(error)


def _values(name: str, logits: Tensor) -> Tensor:
    if logits.dtype not in (torch.float32, torch.float64):
        scalar = str(logits.dtype).removeprefix("torch.").replace("float16", "Half").replace("bHalf", "BFloat16")
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar}'")
    return logits.float()


def _target_place(values: Tensor, targets: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """Each row's target as a class of this device, and whether it is one."""
    classes = values.size(1)
    place = targets.reshape(-1, 1).long() - rank * classes
    return place.clamp(0, classes - 1), (place >= 0) & (place < classes)
