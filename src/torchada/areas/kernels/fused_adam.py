"""The steps of torch.optim.Adam and AdamW with fused=True. torch_musa 2.7.1 refuses them, and has optimizers of its own.

Its optimizers keep the counts of steps on the host, so that a step makes the host wait for the device, and cannot be captured. Here
operators on lists make a step, in the precision in which CUDA's kernel computes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import inf, log
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._selection import Kernel, Selection
from torchada.areas.kernels._verdicts import Function, Probe, Verdicts
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch import Tensor

    Tensors = Sequence[Tensor]

_OPTIMIZERS = {"_fused_adam_": "Adam", "_fused_adamw_": "AdamW"}


def patches(context: Context) -> Iterator[Patch]:
    kernels, verdicts = Selection(context), Verdicts(context)
    for name, optimizer in _OPTIMIZERS.items():
        step = _Step(context.torch, is_decoupled=optimizer == "AdamW")
        for operator in (name, f"{name}.tensor_lr"):
            kernel = _Fused(context, operator, step, partial(_is_right, context.torch, operator), verdicts)
            to = f"operators on lists of tensors, where {context.backend.adapter}'s kernel refuses"
            yield Patch(kernels, operator, kernel, None, "emulated", to, note=f"torch.optim.{optimizer}(fused=True)")


class _Fused(Kernel):
    """From torch 2.12 on, CUDA has states in bfloat16 of parameters in float32.

    A backend's kernel has to have them too there: a gate that is once left is not asked again.
    """

    def device(self, *args: Any) -> Any:
        # Without parameters there is no device, and nothing to do for any kernel.
        return next((param.device for param in args[0]), self._context.torch.device("cpu"))

    @property
    def is_needed(self) -> bool:
        return self._verdicts.known(self._judged) is not True

    @property
    def _judged(self) -> str:
        return f"{self.name}, mixed" if self._has_mixed else self.name

    @property
    def _has_mixed(self) -> bool:
        return tuple(map(int, self._context.torch.__version__.split(".")[:2])) >= (2, 12)

    def case(self, *args: Any, **kwargs: Any) -> tuple[str, Probe]:
        return self._judged, partial(_is_right, self._context.torch, self.name, is_mixed=self._has_mixed)


def _is_right(torch: Any, name: str, kernel: Function, device: Any, is_mixed: bool = False) -> bool:
    """Whether the first step goes as far as the learning rate says, against the gradient."""
    param, grad = (torch.tensor([value], device=device) for value in (1.0, 4.0))
    state = torch.zeros(2, 1, device=device, dtype=torch.bfloat16 if is_mixed else torch.float32)
    count, lr = torch.ones((), device=device), 0.5
    lists = [[tensor] for tensor in (param, grad, *state)]
    given = torch.tensor(lr, device=device) if name.endswith("tensor_lr") else lr
    options = {"weight_decay": 0.0, "eps": 1e-8, "amsgrad": False, "maximize": False}
    kernel(*lists, [], [count], lr=given, beta1=0.5, beta2=0.75, **options)
    values: list[float] = [*param.tolist(), *state.flatten().tolist()]
    return abs(values[0] - 0.5) < 1e-5 and values[1:] == [2.0, 4.0]


class _Step:
    """One step of the parameters of one device and type; `is_decoupled`: whether it is AdamW's."""

    def __init__(self, torch: Any, is_decoupled: bool) -> None:
        self._torch, self._is_decoupled = torch, is_decoupled

    def __call__(
        self,
        params: Tensors,
        grads: Tensors,
        exp_avgs: Tensors,
        exp_avg_sqs: Tensors,
        max_exp_avg_sqs: Tensors,
        state_steps: Tensors,
        *,
        lr: float | Tensor,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        **options: Any,
    ) -> None:
        options["lr"] = self._rate(lr)
        state = [params, exp_avgs, exp_avg_sqs, *([max_exp_avg_sqs] if options["amsgrad"] else [])]
        gradients = self._widened(grads)
        if grad_scale is not None:
            gradients = self._torch._foreach_div(gradients, grad_scale.reshape(()))
            # As CUDA's: what is scaled for the step stays so.
            self._store(grads, gradients, found_inf)
        fresh = self._next(*map(self._widened, state), gradients=gradients, counts=state_steps, **options)
        for tensors, values in zip(state, fresh):
            self._store(tensors, values, found_inf)

    def _rate(self, lr: float | Tensor) -> float | Tensor:
        """A rate on the host is a number, as for CUDA's: a copy of it to the device could not be captured."""
        if isinstance(lr, float):
            return lr
        return lr.item() if lr.device.type == "cpu" else lr.reshape(())

    def _widened(self, tensors: Tensors) -> Tensors:
        torch = self._torch
        is_half = tensors[0].dtype in (torch.float16, torch.bfloat16)
        return [tensor.float() for tensor in tensors] if is_half else tensors

    def _next(
        self,
        params: Tensors,
        exp_avgs: Tensors,
        exp_avg_sqs: Tensors,
        *maxima: Tensors,
        gradients: Tensors,
        counts: Tensors,
        lr: float | Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
    ) -> list[Tensors]:
        """The parameters, both averages and, for AMSGrad, the maxima of the second one."""
        torch = self._torch
        gradients = torch._foreach_neg(gradients) if maximize else gradients
        if weight_decay and self._is_decoupled:
            # Not by 1 - lr * weight_decay, of which single precision has a few steps only: the decay would be off by percents.
            params = torch._foreach_sub(params, torch._foreach_mul(params, lr * weight_decay))
        elif weight_decay:
            gradients = torch._foreach_add(gradients, params, alpha=weight_decay)
        exp_avgs = torch._foreach_lerp(exp_avgs, gradients, 1 - beta1)
        exp_avg_sqs = torch._foreach_mul(exp_avg_sqs, beta2)
        torch._foreach_addcmul_(exp_avg_sqs, gradients, gradients, 1 - beta2)
        largest = [torch._foreach_maximum(previous, exp_avg_sqs) for previous in maxima]
        roots = torch._foreach_sqrt(largest[0] if largest else exp_avg_sqs)
        count = torch.stack([step.reshape(()) for step in counts]).to(params[0].dtype)
        torch._foreach_div_(roots, self._correction(beta2, count).sqrt().unbind())
        torch._foreach_add_(roots, eps)
        moves = torch._foreach_mul(exp_avgs, (lr / self._correction(beta1, count)).unbind())
        torch._foreach_div_(moves, roots)
        return [torch._foreach_sub(params, moves), exp_avgs, exp_avg_sqs, *largest]

    def _correction(self, beta: float, count: Tensor) -> Tensor:
        """1 - beta ** count, without the loss of digits where that is small."""
        correction: Tensor = -self._torch.expm1(count * (log(beta) if beta else -inf))
        return correction

    def _store(self, tensors: Tensors, values: Tensors, found_inf: Tensor | None) -> None:
        """Write `values` to `tensors`, unless an infinite gradient was found; the host does not wait to know."""
        torch = self._torch
        if found_inf is not None:
            skips = found_inf.reshape(()) == 1
            values = [torch.where(skips, tensor, value) for tensor, value in zip(tensors, values)]
        torch._foreach_copy_(tensors, values)
