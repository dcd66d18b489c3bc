"""Reductions on which torch_musa 2.7.1 gives other numbers than CUDA (Reduce.cpp).

Of nothing: zeros, where CUDA has nan for a mean, 1 for a product, and an error for a maximum. Sums of int64 that are asked for in a
floating type: overflows beyond 31 bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._gates import gates
from torchada.areas.kernels._overloads import overload
from torchada.areas.kernels._selection import Kernel, Selection, need_own_kernels
from torchada.areas.kernels._verdicts import Function, Verdicts
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch import Tensor

# With the arguments that follow the tensor in a probe.
_OF_NOTHING: dict[str, tuple[Any, ...]] = {
    "mean": (),
    "mean.dim": ([0],),
    "mean.out": ([0],),
    "prod": (),
    "prod.dim_int": (0,),
    "prod.int_out": (0,),
    "max": (),
    "min": (),
}
_SUMS: dict[str, tuple[Any, ...]] = {"sum": (), "sum.dim_IntList": ([0],), "sum.IntList_out": ([0],)}


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    kernels, verdicts, adapter = Selection(context), Verdicts(context), context.backend.adapter
    made: list[tuple[Kernel, str]] = []
    for name, arguments in _OF_NOTHING.items():
        nothing = _Nothing(context.torch, name, arguments)
        made.append((_Empty(context, name, nothing, nothing.is_right, verdicts), "what the CPU says of nothing"))
    for name, arguments in _SUMS.items():
        total = _Sum(context.torch, name, arguments)
        made.append((_IntoFloats(context, name, total, total.is_right, verdicts), "the sum of floating numbers"))
    for kernel, how in made:
        to = f"{how}, where {adapter}'s kernel is not right"
        yield Patch(kernels, kernel.name, kernel, None, "emulated", to, note=f"aten::{kernel.name}")


class _Empty(Kernel):
    rule = gates.NOTHING

    def concerns(self, *args: Any, **kwargs: Any) -> bool:
        return bool(args[0].numel() == 0)


class _IntoFloats(Kernel):
    rule = gates.INTO_FLOATS

    def concerns(self, *args: Any, **kwargs: Any) -> bool:
        dtype = kwargs.get("dtype")
        return dtype is not None and dtype.is_floating_point and args[0].dtype == self._context.torch.int64


class _Reduction:
    def __init__(self, torch: Any, name: str, arguments: tuple[Any, ...]) -> None:
        self._torch, self._name, self._arguments = torch, name, arguments
        self._has_out = name.endswith("out")

    @property
    def _operator(self) -> Any:
        return overload(self._torch, self._name)

    def _probed(self, kernel: Function, x: Tensor, **options: Any) -> Any:
        out = {"out": self._torch.full((), 7.0, dtype=self._torch.float32, device=x.device)} if self._has_out else {}
        return kernel(x, *self._arguments, **options, **out).item()


class _Nothing(_Reduction):
    def __call__(self, self_: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
        given = {} if out is None else {"out": out.cpu()}
        result: Tensor = self._operator(self_.cpu(), *args, **kwargs, **given)
        return result.to(self_.device) if out is None else out.resize_(result.shape).copy_(result)

    def is_right(self, kernel: Function, device: Any) -> bool:
        torch = self._torch
        nothing = torch.empty(0, dtype=torch.float32, device=device)
        if self._name in ("max", "min"):
            return self._raises(kernel, nothing)
        computed: float = self._probed(kernel, nothing)
        return computed == 1 if self._name.startswith("prod") else math.isnan(computed)

    def _raises(self, kernel: Function, nothing: Tensor) -> bool:
        try:
            kernel(nothing)
        except RuntimeError:
            return True
        return False


class _Sum(_Reduction):
    def __call__(self, self_: Tensor, *args: Any, dtype: Any, **kwargs: Any) -> Any:
        return self._operator(self_.to(dtype), *args, dtype=dtype, **kwargs)

    def is_right(self, kernel: Function, device: Any) -> bool:
        torch = self._torch
        x = torch.tensor([2**31, 2**31], device=device)
        return bool(self._probed(kernel, x, dtype=torch.float32) == 2.0**32)
