"""One step of Adam or AdamW, for torch_musa's own optimizers and for the fused ones of torch.optim."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import torch
from torch import Tensor

Tensors = Sequence[Tensor]


class Adam:
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
                self.update(state, grads[i], float(steps[i]))

    def update(self, state: list[Tensor], grad: Tensor, step: float | Tensor) -> None:
        """`state` is the parameter, the two averages and, for AMSGrad, the maximum of the second one."""
        gradient = grad.to(precision(grad))
        if self.grad_scale is not None:
            gradient = gradient / self.grad_scale
            self._store(grad, gradient)
        fresh = self._next(*(tensor.to(precision(tensor)) for tensor in state), gradient=gradient, step=step)
        for tensor, value in zip(state, fresh):
            self._store(tensor, value)

    def _next(
        self,
        param: Tensor,
        exp_avg: Tensor,
        exp_avg_sq: Tensor,
        *maximum: Tensor,
        gradient: Tensor,
        step: float | Tensor,
    ) -> list[Tensor]:
        gradient = -gradient if self.maximize else gradient
        if self.weight_decay != 0 and self.decoupled:
            param = param - self.lr * self.weight_decay * param
        elif self.weight_decay != 0:
            gradient = gradient + param * self.weight_decay
        exp_avg = torch.lerp(gradient, exp_avg, self.beta1)
        exp_avg_sq = torch.lerp(gradient * gradient, exp_avg_sq, self.beta2)
        largest = [torch.maximum(previous, exp_avg_sq) for previous in maximum]
        second = largest[0] if largest else exp_avg_sq
        denominator = second.sqrt() / _lacking(self.beta2, step) ** 0.5 + self.eps
        param = param - self.lr / _lacking(self.beta1, step) * exp_avg / denominator
        return [param, exp_avg, exp_avg_sq, *largest]

    def _store(self, tensor: Tensor, value: Tensor) -> None:
        """Write the values, unless an infinite gradient was found; the host does not wait to know."""
        if self.found_inf is not None:
            value = torch.where(self.found_inf == 1, tensor, value)
        tensor.copy_(value)


def _lacking(beta: float, step: float | Tensor) -> Any:
    """1 - beta ** step; for a count on the device without waiting for it, so that a step can be captured."""
    return -torch.expm1(step * log(beta)) if isinstance(step, Tensor) and beta > 0 else 1 - beta**step


def precision(tensor: Tensor) -> torch.dtype:
    return torch.float32 if tensor.dtype in (torch.float16, torch.bfloat16) else tensor.dtype
