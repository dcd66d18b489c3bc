"""The conversions that TorchScript compiles `with torch.autocast("cuda")` to.

TorchScript puts one in front of each operator that autocast has a rule for, and PyTorch composes them of a question for CUDA's
and the CPU's tensors alone. Without these kernels, such a function computes in single precision on the backend's device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._selection import Selection
from torchada.redirect.context import Context
from torchada.redirect.dispatch_keys import DispatchKeys
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torch import Tensor, dtype
    from torch._C import DispatchKeySet

    Convert = Callable[..., Tensor]


def patches(context: Context) -> Iterator[Patch]:
    torch, names = context.torch, DispatchKeys(context).names
    if "CUDA" not in names:
        raise Skip(f"{context.backend.name} has no kernels of its own")
    conversions: dict[str, Convert] = {"_autocast_to_reduced_precision": _reduced, "_autocast_to_full_precision": _full}
    for key in ("CUDA", "AutogradCUDA"):  # in inference mode, and outside of it
        kernels = Selection(context)
        for name, convert in conversions.items():
            if torch._C._dispatch_has_kernel(f"aten::{name}"):
                kernel = _Conversion(torch, names[key], convert)
                note = f"aten::{name}: torch.autocast in torch.jit.script"
                yield Patch(kernels, name, kernel, None, "emulated", "Tensor.to", note=note)


class _Conversion:
    """One operator's kernel for one dispatch key. `Tensor.to` is asked from above, so autograd records it."""

    def __init__(self, torch: Any, key: str, convert: Convert) -> None:
        self._torch, self.key, self._convert = torch, key, convert

    def __call__(self, keys: DispatchKeySet, value: Tensor, *settings: Any) -> Tensor:
        return self._convert(self._torch, value, *settings)


def _reduced(
    torch: Any, value: Tensor, cuda_enabled: bool, cpu_enabled: bool, cuda_dtype: dtype, cpu_dtype: dtype
) -> Tensor:
    return value.to(cuda_dtype) if cuda_enabled and value.dtype == torch.float32 else value


def _full(torch: Any, value: Tensor, cuda_enabled: bool, cpu_enabled: bool) -> Tensor:
    halves = (torch.float16, torch.bfloat16)
    return value.to(torch.float32) if cuda_enabled and value.dtype in halves else value
