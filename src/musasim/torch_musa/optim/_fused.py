"""What FusedAdam and FusedAdamW have in common: options, state, and the operator that makes a step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import Optimizer, ParamsT

_LISTS = ("params", "grads", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs", "state_steps")
_LIBRARY = torch.library.Library("musa", "FRAGMENT")  # type: ignore[no-untyped-call]


def define_operator(name: str, kernel: Callable[..., None]) -> Any:
    """`torch.ops.musa.<name>` with a learning rate that is a number, or, as overload `tensor_lr`, a tensor."""
    lists = ", ".join(f"Tensor(a{i}!)[] {argument}" for i, argument in enumerate(_LISTS))
    options = (
        "bool capturable=False, bool differentiable=False, Tensor? grad_scale=None, Tensor? found_inf=None, "
        "bool has_complex=False, *, bool amsgrad, float beta1, float beta2, float weight_decay, float eps, bool maximize"
    )
    for overload, lr in (("", "float"), (".tensor_lr", "Tensor")):
        operator = f"{name}{overload}"
        launch = partial(_launch, kernel)
        _LIBRARY.define(f"{operator}({lists}, {lr} lr, {options}) -> ()")  # type: ignore[no-untyped-call]
        _LIBRARY.impl(operator, launch, "PrivateUse1")  # type: ignore[no-untyped-call]
        _LIBRARY.impl(operator, _launch_nothing, "Meta")  # type: ignore[no-untyped-call]
    return getattr(torch.ops.musa, name)


def _launch_nothing(*args: Any, **kwargs: Any) -> None:
    """Tensors without values have nothing to update."""


def _launch(
    kernel: Callable[..., None],
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    lr: float | Tensor,
    capturable: bool = False,
    differentiable: bool = False,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    amsgrad: bool,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    lists: Any = [params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps]
    groups = Optimizer._group_tensors_by_device_and_dtype(lists)
    for (device, _), (group, _) in groups.items():
        rate, scale, skip = (
            value.to(device) if isinstance(value, Tensor) else value for value in (lr, grad_scale, found_inf)
        )
        kernel(*group, rate, beta1, beta2, weight_decay, eps, amsgrad, maximize, scale, skip)
        if isinstance(skip, Tensor):
            _take_back([step for step in group[-1] if step is not None], skip)


def _take_back(steps: list[Tensor], found_inf: Tensor) -> None:
    """Subtract a step that was skipped from the counters."""
    skipped = found_inf.cpu().reshape_as(steps[0])
    torch._foreach_sub_(steps, [skipped] * len(steps))


class FusedOptimizer(Optimizer):
    """Adam's state. The counters of steps are on the host, unlike those of torch.optim's fused optimizers."""

    _operator: Any

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        amsgrad: bool,
        maximize: bool,
        capturable: bool,
        differentiable: bool,
    ) -> None:
        _check_options(lr, betas, eps, weight_decay)
        if differentiable:
            raise RuntimeError(f"{type(self).__name__} does not support differentiable=True")
        defaults: dict[str, Any] = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        defaults.update(amsgrad=amsgrad, maximize=maximize, capturable=capturable)
        super().__init__(params, {**defaults, "differentiable": differentiable, "fused": True})
        self._step_supports_amp_scaling = True
        self._check_parameters()

    def _check_parameters(self) -> None:
        supported = [torch._C._get_privateuse1_backend_name(), "cpu"]
        parameters = [param for group in self.param_groups for param in group["params"]]
        if not all(param.device.type in supported and torch.is_floating_point(param) for param in parameters):
            raise RuntimeError(
                f"{type(self).__name__} requires all the params to be floating point Tensors of supported devices: {supported}."
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for option in ("amsgrad", "maximize", "capturable", "differentiable"):
                group.setdefault(option, False)
            group.setdefault("fused", True)
        for param_state in self.state.values():
            param_state["step"] = torch.as_tensor(param_state["step"], dtype=torch.float32, device="cpu")

    def _collect(self, group: dict[str, Any]) -> list[list[Tensor]]:
        """The lists that the operator takes, for the parameters that have a gradient."""
        lists: defaultdict[str, list[Tensor]] = defaultdict(list)
        for param in group["params"]:
            if param.device.type != "musa":
                raise RuntimeError("all parameters should on MUSA device")
            if param.grad is not None:
                for name, tensor in self._entries(param, group["amsgrad"]).items():
                    lists[name].append(tensor)
        return [lists[name] for name in _LISTS]

    def _entries(self, param: Tensor, amsgrad: bool) -> dict[str, Tensor]:
        assert param.grad is not None
        if param.grad.is_sparse:
            raise RuntimeError(
                f"{type(self).__name__} does not support sparse gradients, please consider SparseAdam instead"
            )
        state = self.state[param]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32)
            for name in ("exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if amsgrad else [])):
                state[name] = torch.zeros_like(param, memory_format=torch.preserve_format)
        entries = {name + "s": tensor for name, tensor in state.items() if name != "step"}
        return {"params": param, "grads": param.grad, "state_steps": state["step"], **entries}

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Make one step. `closure` computes the loss anew and returns it."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            lists = self._collect(group)
            if lists[0]:
                self._run(lists, group)
        return loss

    def _run(self, lists: list[list[Tensor]], group: dict[str, Any]) -> None:
        operator = self._operator.tensor_lr if isinstance(group["lr"], Tensor) else self._operator.default
        beta1, beta2 = group["betas"]
        options = {name: group[name] for name in ("amsgrad", "weight_decay", "eps", "maximize")}
        operator(
            *lists,
            group["lr"],
            group["capturable"],
            group["differentiable"],
            getattr(self, "grad_scale", None),
            getattr(self, "found_inf", None),
            beta1=beta1,
            beta2=beta2,
            **options,
        )


def _check_options(lr: float | Tensor, betas: tuple[float, float], eps: float, weight_decay: float) -> None:
    if lr < 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")
    if eps < 0.0:
        raise ValueError(f"Invalid epsilon value: {eps}")
    for index, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
    if weight_decay < 0.0:
        raise ValueError(f"Invalid weight_decay value: {weight_decay}")
