"""Adam in one launch."""

from __future__ import annotations

from torch import Tensor
from torch.optim.optimizer import ParamsT

from ..utils import ext_loader
from ._fused import FusedOptimizer, define_operator

ext_module = ext_loader.load_ext("_ext", ["fused_adam"])

__all__ = ["FusedAdam"]


class FusedAdam(FusedOptimizer):
    """Adam, whose weight decay is part of the gradient."""

    _operator = define_operator("_fused_adam_", ext_module.fused_adam)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize, capturable, differentiable)
