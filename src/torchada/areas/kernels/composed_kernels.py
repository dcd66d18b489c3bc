"""Operators that CUDA has and the backend has not, made of other operators on the device.

torch_musa 2.7.1 registers neither batch_norm_gather_stats nor dequantize of ordinary tensors (musa_functions.yaml), and no list
that was read has _scaled_mm_v2, which torch.nn.functional.scaled_mm calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._fallbacks import lacks
from torchada.areas.kernels._selection import Selection, need_own_kernels, without_autocast
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torch import Tensor
    from torch._C import DispatchKeySet

    from torchada.areas.kernels._scaled_products import ScaledProduct

    Function = Callable[..., Any]

_DEVICE = "PrivateUse1"


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    torch, product = context.torch, _ScaledProduct(context)
    composed: dict[str, tuple[Function, str]] = {
        "dequantize.self": (torch.Tensor.float, "torch.dequantize of an ordinary tensor"),
        "batch_norm_gather_stats": (_GatherStatistics(torch), "torch.batch_norm_gather_stats"),
        "_scaled_mm_v2": (product, "torch.nn.functional.scaled_mm"),
        "_scaled_mm_v2.out": (product.out, "torch._scaled_mm_v2 with out="),
    }
    names = [name for name in composed if _is_lacking(context, name)]
    if not names:
        raise Skip("the backend has them all")
    kernels = Selection(context)
    for name in names:
        function, note = composed[name]
        kernel = _Composed(context, function)
        yield Patch(kernels, name, kernel, None, "emulated", "other operators on the device", note=note)


def _is_lacking(context: Context, name: str) -> bool:
    return context.torch._C._dispatch_has_kernel(f"aten::{name}") and lacks(context, name, _DEVICE)


class _Composed:
    """One operator's kernel."""

    key = _DEVICE

    def __init__(self, context: Context, function: Function) -> None:
        self._context, self._function = context, function

    @cached_property
    def _no_autocast(self) -> Callable[[], AbstractContextManager[Any]]:
        return without_autocast(self._context)

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        with self._no_autocast():  # which knows none of these operators, on CUDA neither
            return self._function(*args, **kwargs)


class _ScaledProduct:
    """The kernel of _scaled_mm_v2, imported when it is first called: few programs call it."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def _kernel(self) -> ScaledProduct:
        from torchada.areas.kernels._scaled_products import ScaledProduct

        return ScaledProduct(self._context)

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._kernel()(*args, **kwargs)

    def out(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._kernel().out(*args, **kwargs)


class _GatherStatistics:
    """The statistics of all ranks in one. CUDA's kernel is that of different counts, with the same count for each rank."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def __call__(
        self, values: Tensor, mean: Tensor, inverse: Tensor, running_mean: Tensor | None, *rest: Any
    ) -> tuple[Tensor, Tensor]:
        running_var, momentum, eps, count = rest
        dtype = values.dtype if running_mean is None else running_mean.dtype
        counts = self._torch.full((mean.size(0),), count, dtype=dtype, device=mean.device)
        gather: Function = self._torch.batch_norm_gather_stats_with_counts
        made: tuple[Tensor, Tensor] = gather(values, mean, inverse, running_mean, running_var, momentum, eps, counts)
        return made
