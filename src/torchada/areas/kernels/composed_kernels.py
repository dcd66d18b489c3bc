"""Operators that CUDA has and the backend has not, made of other operators on the device.

torch_musa 2.7.1 registers neither batch_norm_gather_stats nor dequantize of ordinary tensors (musa_functions.yaml), and no list
that was read has _scaled_mm_v2, which torch.nn.functional.scaled_mm calls. Operators on weights of four bits are missing in 2.7.1,
and by the source, the product of 2.9.1 is not CUDA's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._autocast import BelowAutocast
from torchada.areas.kernels._fallbacks import lacks
from torchada.areas.kernels._selection import Kernel, Late, Selection, need_own_kernels
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

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
    kernels, to = Selection(context), "other operators on the device"
    for name in (name for name in composed if _is_lacking(context, name)):
        function, note = composed[name]
        yield Patch(kernels, name, _Composed(context, function), None, "emulated", to, note=note)
    note = "torch._convert_weight_to_int4pack, torch._weight_int4pack_mm"
    yield Patch(Late(context), "packed weights", partial(_packed_weights, context), None, "emulated", to, note=note)


def _is_lacking(context: Context, name: str) -> bool:
    return context.torch._C._dispatch_has_kernel(f"aten::{name}") and lacks(context, name, _DEVICE)


def _packed_weights(context: Context) -> Iterator[Kernel]:
    from torchada.areas.kernels._packed_weights import kernels

    yield from kernels(context)


class _Composed:
    """One operator's kernel."""

    key = _DEVICE

    def __init__(self, context: Context, function: Function) -> None:
        self._function, self._below_autocast = function, BelowAutocast(context)

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        with self._below_autocast():
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
