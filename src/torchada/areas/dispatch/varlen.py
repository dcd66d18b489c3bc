"""torch.nn.attention.varlen calls CUDA's flash attention kernels: a clear error where the backend has no such kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.unsupported import error

if TYPE_CHECKING:
    from torchada.redirect.types import P, R

_KERNEL = "aten::_flash_attention_forward"
_WHY = f"it has no kernel for {_KERNEL}; use torch.nn.functional.scaled_dot_product_attention on each sequence"


def patches(context: Context) -> Iterator[Patch]:
    import torch.nn.attention.varlen as varlen

    if context.torch._C._dispatch_has_kernel_for_dispatch_key(_KERNEL, context.backend.names.dispatch_key):
        raise Skip(f"{context.backend.name} has a kernel for {_KERNEL}")
    for name in ("varlen_attn", "varlen_attn_out"):
        original = getattr(varlen, name, None)
        if original is not None:
            api = f"torch.nn.attention.varlen.{name}"
            yield Patch(varlen, name, _refuse(context, api, original), api, kind="unsupported")


def _refuse(context: Context, api: str, original: Callable[P, R]) -> Callable[P, R]:
    torch, device_type = context.torch, context.backend.device_type

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given = (*args, *kwargs.values())
        if any(isinstance(value, torch.Tensor) and value.device.type == device_type for value in given):
            raise error(context, api, _WHY)
        return original(*args, **kwargs)

    return disguise(call, original)
