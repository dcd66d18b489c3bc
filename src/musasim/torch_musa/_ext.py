"""What torch_musa compiles for its optimizers: updates of many tensors in one launch. Here each tensor is updated by itself."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

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


class _Adam:
    def __init__(
        self,
        lr: float | Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        maximize: bool,
        decoupled: bool,
        grad_scale: Tensor | None,
        found_inf: Tensor | None,
    ) -> None:
        self.lr, self.beta1, self.beta2, self.eps = lr, beta1, beta2, eps
        self.weight_decay, self.maximize, self.decoupled = weight_decay, maximize, decoupled
        self.grad_scale, self.found_inf = grad_scale, found_inf

    def apply(
        self,
        params: Tensors,
        grads: Tensors,
        exp_avgs: Tensors,
        exp_avg_sqs: Tensors,
        maxima: Tensors | None,
        steps: Tensors,
    ) -> None:
        for i, param in enumerate(params):
            if param.numel() > 0:
                steps[i].add_(1)
                state = [param, exp_avgs[i], exp_avg_sqs[i], *([maxima[i]] if maxima is not None else [])]
                self._update(state, grads[i], float(steps[i]))

    def _update(self, state: list[Tensor], grad: Tensor, step: float) -> None:
        """`state` is the parameter, the two averages and, for AMSGrad, the maximum of the second one."""
        gradient = grad.to(_precision(grad))
        if self.grad_scale is not None:
            gradient = gradient / self.grad_scale
            self._store(grad, gradient)
        fresh = self._next(*(tensor.to(_precision(tensor)) for tensor in state), gradient=gradient, step=step)
        for tensor, value in zip(state, fresh):
            self._store(tensor, value)

    def _next(
        self, param: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, *maximum: Tensor, gradient: Tensor, step: float
    ) -> list[Tensor]:
        gradient = -gradient if self.maximize else gradient
        if self.weight_decay != 0 and self.decoupled:
            param = param - self.lr * self.weight_decay * param
        elif self.weight_decay != 0:
            gradient = gradient + param * self.weight_decay
        exp_avg = torch.lerp(gradient, exp_avg, self.beta1)
        exp_avg_sq = torch.lerp(gradient * gradient, exp_avg_sq, self.beta2)
        largest = [torch.maximum(each, exp_avg_sq) for each in maximum]
        second = largest[0] if largest else exp_avg_sq
        denominator = second.sqrt() / (1 - self.beta2**step) ** 0.5 + self.eps
        param = param - self.lr / (1 - self.beta1**step) * exp_avg / denominator
        return [param, exp_avg, exp_avg_sq, *largest]

    def _store(self, tensor: Tensor, value: Tensor) -> None:
        """Unless an infinite gradient was found, which the host does not wait for."""
        if self.found_inf is not None:
            value = torch.where(self.found_inf == 1, tensor, value)
        tensor.copy_(value)


def _precision(tensor: Tensor) -> torch.dtype:
    return torch.float32 if tensor.dtype in (torch.float16, torch.bfloat16) else tensor.dtype


def multi_tensor_l2norm(
    chunk_size: int, noop_flag: Tensor, tensor_lists: Sequence[Tensors], per_tensor: bool | None = False
) -> tuple[Tensor, Tensor]:
    """The norm of all tensors together, of shape (1,), and, if asked for, that of each one; both in float32."""
    norms = torch.stack([tensor.float().norm() for tensor in tensor_lists[0]])
    each = norms if per_tensor else norms.new_empty(0)
    return norms.norm().reshape(1), each


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
