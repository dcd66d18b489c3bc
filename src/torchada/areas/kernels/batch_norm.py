"""Gradients of batch normalization in eval mode: torch_musa 2.7.1 reads statistics that were never written (BatchNorm.cpp)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._gates import gates
from torchada.areas.kernels._selection import Kernel, Late, need_own_kernels
from torchada.areas.kernels._verdicts import Function, Verdicts
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch import Tensor

OPERATORS = ("native_batch_norm_backward", "batch_norm_backward")


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    to = f"operators on the device, where {context.backend.adapter}'s kernel is not right"
    note = "aten::*batch_norm_backward in eval mode"
    yield Patch(Late(context), "gradients of batch normalization", _Kernels(context), None, "emulated", to, note=note)


class _Kernels:
    """The two operators that compute gradients."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def __call__(self) -> Iterator[Kernel]:
        context, verdicts = self._context, Verdicts(self._context)
        for name in OPERATORS:
            if context.torch._C._dispatch_has_kernel(f"aten::{name}"):
                gradient = _Gradient(context.torch, name)
                yield _Evaluated(context, name, gradient, gradient.is_right, verdicts)


class _Evaluated(Kernel):
    rule = gates.EVALUATED

    def concerns(self, *args: Any, **kwargs: Any) -> bool:
        return not args[7] and args[0].dtype != self._context.torch.float64


class _Gradient:
    """From the running statistics, in single precision."""

    def __init__(self, torch: Any, name: str) -> None:
        self._torch, self._reserve = torch, name == "batch_norm_backward"

    def __call__(
        self,
        grad: Tensor,
        input: Tensor,
        weight: Tensor | None,
        mean: Tensor,
        variance: Tensor,
        save_mean: Tensor | None,
        save_invstd: Tensor | None,
        train: bool,
        eps: float,
        mask: tuple[bool, bool, bool],
        *reserve: Tensor,
    ) -> tuple[Tensor | None, ...]:
        channels = (1, -1, *[1] * (input.dim() - 2))
        wide, others = grad.float(), [dim for dim in range(input.dim()) if dim != 1]
        deviation = (variance.float() + eps).rsqrt()
        scale = deviation if weight is None else deviation * weight
        of_input = (wide * scale.view(channels)).to(input.dtype) if mask[0] else None
        centred = (input.float() - mean.view(channels)) * wide if mask[1] else wide
        of_weight = (centred.sum(others) * deviation).to(mean.dtype) if mask[1] else None
        return of_input, of_weight, wide.sum(others).to(mean.dtype) if mask[2] else None

    def is_right(self, kernel: Function, device: Any) -> bool:
        torch = self._torch
        x = torch.linspace(-1, 1, 12, device=device).reshape(2, 2, 3)
        weight, mean, variance = (
            torch.tensor(values, device=device) for values in ([1.0, 2.0], [0.5, -0.5], [4.0, 9.0])
        )
        unwritten = torch.full((2,), 7.0, device=device)
        reserve = [torch.empty(0, dtype=torch.uint8, device=device)] if self._reserve else []
        given = x, x, weight, mean, variance, unwritten, unwritten, False, 1e-5, [True] * 3, *reserve
        pairs = zip(kernel(*given), self(*given))
        return all(bool(torch.allclose(found, wanted, atol=1e-5)) for found, wanted in pairs)
