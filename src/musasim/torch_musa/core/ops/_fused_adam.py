"""The steps of torch.optim.Adam and AdamW with fused=True: refused up to 2.9.1, kernels since 2.11.0 (optimizer/FusedAdam*.mu)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor

from musasim.base import release

from ._adam import Adam

Tensors = Sequence[Tensor]

_OPTIMIZERS = {"_fused_adam_": "Adam", "_fused_adamw_": "AdamW"}
_library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]


def _refusal(optimizer: str) -> Callable[..., NoReturn]:
    def kernel(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            f"torch.optim.{optimizer}(fused=True) is not supported, try torch_musa.optim.Fused{optimizer} instead"
        )

    return kernel


def _step(is_decoupled: bool) -> Callable[..., None]:
    def kernel(
        params: Tensors,
        grads: Tensors,
        exp_avgs: Tensors,
        exp_avg_sqs: Tensors,
        max_exp_avg_sqs: Tensors,
        state_steps: Tensors,
        *,
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
        lists = [params, grads, exp_avgs, exp_avg_sqs, *([max_exp_avg_sqs] if amsgrad else [])]
        _need_one_kind(lists, amsgrad)
        update = Adam(lr, beta1, beta2, weight_decay, eps, maximize, is_decoupled, grad_scale, found_inf)
        for step, param, grad, *state in zip(state_steps, *lists):
            if param.numel() > 0:
                update.update([param, *state], grad, step)

    return kernel


def _need_one_kind(lists: list[Tensors], amsgrad: bool) -> None:
    kinds = {(tensor.dtype, tensor.device, tensor.layout) for tensors in lists for tensor in tensors}
    if len(kinds) > 1:
        names = "exp_avgs, exp_avg_sqs, and max_exp_avg_sqs" if amsgrad else "exp_avgs, and exp_avg_sqs"
        raise RuntimeError(f"params, grads, {names} must have same dtype, device, and layout")


for _name, _optimizer in _OPTIMIZERS.items():
    _kernel = _step(_optimizer == "AdamW") if release.since("2.11.0") else _refusal(_optimizer)
    for _overload in ("", ".tensor_lr"):
        _library.impl(_name + _overload, _kernel, "PrivateUse1")
