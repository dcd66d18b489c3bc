"""The scale of torch.amp.GradScaler, which torch_musa 2.7.1 lets grow to infinity (Amp.mu): CUDA's stays at the last finite one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._selection import Kernel, Selection, need_own_kernels
from torchada.areas.kernels._verdicts import Function, Verdicts
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch import Tensor

_NAME = "_amp_update_scale_"


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    update = _Update(context.torch)
    kernel = Kernel(context, _NAME, update, update.is_right, Verdicts(context))
    to = f"operators on the device, where {context.backend.adapter}'s kernel is not right"
    yield Patch(Selection(context), _NAME, kernel, None, "emulated", to, note=f"aten::{_NAME}")


class _Update:
    """Without a look at the device's numbers, so that it can be captured."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def __call__(
        self, scale: Tensor, tracker: Tensor, found_inf: Tensor, growth: float, backoff: float, interval: int
    ) -> Tensor:
        where = self._torch.where
        is_infinite, successful, grown = found_inf != 0, tracker + 1, scale * growth
        is_due = successful == interval
        calm = where(is_due & (grown < float("inf")), grown, scale)
        scale.copy_(where(is_infinite, scale * backoff, calm))
        tracker.copy_(where(is_infinite | is_due, self._torch.zeros_like(tracker), successful))
        return scale

    def is_right(self, kernel: Function, device: Any) -> bool:
        torch = self._torch
        scale, tracker = torch.full((1,), 3e38, device=device), torch.zeros(1, dtype=torch.int32, device=device)
        kernel(scale, tracker, torch.zeros(1, device=device), 2.0, 0.5, 1)
        return bool(scale.isfinite().item())
