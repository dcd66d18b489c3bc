"""`out=` of another size than the result: torch_musa 2.7.1 hands it to muDNN as it is, where CUDA resizes it.

So it is given the size before the backend's kernel is called, with CUDA's warning if it has elements (Binary.cpp, Activation.cpp,
Reduce.cpp, Matmul.cpp).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._gates import gates
from torchada.areas.kernels._gates.operators import INTO_SIZES
from torchada.areas.kernels._selection import Gated, Late, need_own_kernels
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch._C import DispatchKeySet

    from torchada.areas.kernels._sizes import Size

_RULES = {"pairwise": gates.PAIRWISE, "product": gates.PRODUCT, "reduced": gates.REDUCED}


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    to = f"{context.backend.adapter}'s kernel, into a tensor that has been given the size"
    note = "aten::* with out= of another size"
    yield Patch(Late(context), "sizes of out", _Sized(context), None, "emulated", to, note=note)


class _Sized:
    """The kernels that do not resize."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def __call__(self) -> Iterator[_Fitting]:
        from torchada.areas.kernels._sizes import KINDS  # not before the device is used

        has_kernel = self._context.torch._C._dispatch_has_kernel
        for kind, names in INTO_SIZES.items():
            yield from (
                _Fitting(self._context, name, _RULES[kind], KINDS[kind])
                for name in names
                if has_kernel(f"aten::{name}")
            )


class _Fitting(Gated):
    """A gate in C++ has done this before it calls Python for another reason."""

    def __init__(self, context: Context, name: str, rule: int, size: Callable[..., Size | None]) -> None:
        super().__init__(context, name)
        self.rule, self._size = rule, size

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        torch = self._context.torch
        named = {name: value for name, value in kwargs.items() if isinstance(value, torch.Tensor)}
        if all(tensor.device.type == self._context.backend.device_type for tensor in named.values()):
            self._fit(named, args)
        return self._own(keys)(*args, **kwargs)

    def _fit(self, outs: dict[str, Any], args: tuple[Any, ...]) -> None:
        size = self._size(*args)
        for out in outs.values():
            if size is not None and out.shape != size:
                _resize(out, size)


def _resize(out: Any, size: Size) -> None:
    if out.numel():
        from torch._prims_common.wrappers import _resize_output_check  # which imports much, for a warning

        _resize_output_check(out, size)
    out.resize_(size)
