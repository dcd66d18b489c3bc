"""LAMB, with updates of many tensors in one launch."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from ..multi_tensor_apply import multi_tensor_applier
from ..utils import ext_loader

ext_module = ext_loader.load_ext("_ext", ["multi_tensor_l2norm", "multi_tensor_lamb"])

_TYPES = (torch.float16, torch.float32)


class FusedLAMB(torch.optim.Optimizer):
    """LAMB for parameters of float16 and float32. A step overwrites the gradients with the updates."""

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        bias_correction: bool = True,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        adam_w_mode: bool = True,
        grad_averaging: bool = True,
        set_grad_none: bool = True,
        max_grad_norm: float = 1.0,
        use_nvlamb: bool = False,
    ) -> None:
        if amsgrad:
            raise RuntimeError("FusedLAMB does not support the AMSGrad variant.")
        defaults: dict[str, Any] = {"lr": lr, "bias_correction": bias_correction, "betas": betas, "eps": eps}
        defaults.update(weight_decay=weight_decay, grad_averaging=grad_averaging, max_grad_norm=max_grad_norm)
        super().__init__(params, defaults)
        if not multi_tensor_applier.available:
            raise RuntimeError("torch_musa.optim.FusedLAMB requires musa extensions")
        self.multi_tensor_l2norm = ext_module.multi_tensor_l2norm
        self.multi_tensor_lamb = ext_module.multi_tensor_lamb
        self._dummy_overflow_buf = torch.tensor([0], dtype=torch.int, device=self._device)
        self.adam_w_mode = int(adam_w_mode)
        self.set_grad_none, self.use_nvlamb = set_grad_none, use_nvlamb

    @property
    def _device(self) -> torch.device:
        device: torch.device = self.param_groups[0]["params"][0].device
        return device

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients, whatever `set_to_none` and the optimizer's set_grad_none say."""
        super().zero_grad()

    def step(self, closure: Any = None) -> Any:
        """Make one step. `closure` computes the loss anew and returns it."""
        loss = None if closure is None else closure()
        norm = self._norm_of_gradients()
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            for _dtype, lists in self._collect(group).items():
                self._update(lists, group, norm)
        return loss

    def _norm_of_gradients(self) -> Tensor:
        grads: dict[torch.dtype, list[Tensor]] = {dtype: [] for dtype in _TYPES}
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    grads[_checked_type(param)].append(param.grad.data)
        zero = torch.zeros(1, device=self._device)
        norms = [self._norm(tensors) if tensors else zero for tensors in grads.values()]
        return self._norm(norms)

    def _norm(self, tensors: list[Tensor]) -> Tensor:
        norm: Tensor = multi_tensor_applier(self.multi_tensor_l2norm, self._dummy_overflow_buf, [tensors], False)[0]
        return norm

    def _collect(self, group: dict[str, Any]) -> dict[torch.dtype, list[list[Tensor]]]:
        """Gradients, parameters and both averages of the parameters that have a gradient, by type."""
        by_type: dict[torch.dtype, list[list[Tensor]]] = defaultdict(lambda: [[], [], [], []])
        for param in group["params"]:
            if param.grad is None:
                continue
            if param.grad.data.is_sparse:
                raise RuntimeError("FusedLAMB does not support sparse gradients, please consider SparseAdam instead")
            state = self.state[param]
            if not state:
                state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(param.data), torch.zeros_like(param.data)
            tensors = (param.grad.data, param.data, state["exp_avg"], state["exp_avg_sq"])
            for column, tensor in zip(by_type[_checked_type(param)], tensors):
                column.append(tensor)
        return by_type

    def _update(self, lists: list[list[Tensor]], group: dict[str, Any], norm: Tensor) -> None:
        multi_tensor_applier(
            self.multi_tensor_lamb,
            self._dummy_overflow_buf,
            lists,
            group["lr"],
            *group["betas"],
            group["eps"],
            group["step"],
            int(group["bias_correction"]),
            group["weight_decay"],
            int(group["grad_averaging"]),
            self.adam_w_mode,
            norm,
            self.defaults["max_grad_norm"],
            self.use_nvlamb,
        )


def _checked_type(param: Tensor) -> torch.dtype:
    if param.dtype not in _TYPES:
        raise RuntimeError("FusedLAMB only support fp16 and fp32.")
    return param.dtype
