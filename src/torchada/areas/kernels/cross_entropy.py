"""torch.nn.functional.cross_entropy under autocast, which computes in single precision and returns that on CUDA.

torch_musa's PyTorch has a fused operator for it that its autocast does not know, so the loss comes in the type of the logits
(Loss.cpp, torch_patches/aten_src_ATen_native_LossNLL.cpp.patch): bfloat16 keeps three digits of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._selection import Selection, need_own_kernels
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch import Tensor
    from torch._C import DispatchKeySet

_NAME = "cross_entropy_loss"


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    api, to = "torch.nn.functional.cross_entropy", "the loss of logits in single precision"
    yield Patch(Selection(context), _NAME, _Loss(context), None, "emulated", to, note=f"{api} under autocast")


class _Loss:
    key = "AutocastPrivateUse1"

    def __init__(self, context: Context) -> None:
        self._torch = context.torch
        native = context.torch._C
        self._autocast = native.DispatchKeySet(native.DispatchKey.AutocastPrivateUse1)

    def __call__(self, keys: DispatchKeySet, logits: Tensor, target: Tensor, *rest: Any, **options: Any) -> Any:
        torch = self._torch
        if logits.dtype in (torch.float16, torch.bfloat16):
            logits = logits.float()
            rest = tuple(argument.float() if isinstance(argument, torch.Tensor) else argument for argument in rest)
        # Everything is in single precision from here on, so autocast has nothing left to do.
        with torch._C._ExcludeDispatchKeyGuard(self._autocast):
            return torch.ops.aten.cross_entropy_loss.default(logits, target, *rest, **options)
