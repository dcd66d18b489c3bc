"""The deprecated torch._custom_op: `CustomOp.impl("cuda")` goes through torch.library, except for one check before that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.dispatch_keys import DispatchKeys
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch._custom_op.impl import CustomOp


def patches(context: Context) -> Iterator[Patch]:
    from torch._custom_op.impl import CustomOp

    name = "_check_doesnt_have_library_impl"
    check = _check(context, getattr(CustomOp, name))
    yield Patch(CustomOp, name, check, 'torch._custom_ops.impl(op, device_types="cuda")')


def _check(context: Context, original: Callable[[CustomOp, str], None]) -> Callable[[CustomOp, str], None]:
    """An operator served only by the backend's fallback counts as having no implementation yet; CUDA has no such fallback."""
    has_kernel, own = context.torch._C._dispatch_has_kernel_for_dispatch_key, DispatchKeys(context).names["CUDA"]
    implementing = (own, "CompositeExplicitAutograd", "CompositeImplicitAutograd")

    def _check_doesnt_have_library_impl(self: CustomOp, device_type: str) -> None:
        if device_type == "cuda" and not any(has_kernel(self._qualname, key) for key in implementing):
            return
        original(self, device_type)

    return disguise(_check_doesnt_have_library_impl, original)
