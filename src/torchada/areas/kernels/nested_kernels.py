"""Nested tensors of the strided layout: the kernels that PyTorch has for them on every device.

On CUDA most operators of nested tensors have the CPU's kernel: it computes on the buffers, on whatever device they are.
torch_musa 2.7.1 registers five operators for them, and 2.9.1 most. Already the gradient of a new nested tensor needs another, and
without it torch ends the process. What a backend lacks is passed on to the CPU's kernel, by one fallback for the key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._fallbacks import Fallbacks, composed, free_key, lacks, with_tensors
from torchada.areas.kernels._nested_dense import ON_ANY_DEVICE, like, operations
from torchada.areas.kernels._selection import Selection
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch import Tensor
    from torch._C import DispatchKeySet
    from torch._ops import OpOverload

# Kernels of the CPU that read memory themselves.
_OF_THE_CPU = frozenset(
    ("aten::_nested_from_padded", "aten::_transform_bias_rescale_qkv", "aten::_native_multi_head_attention")
)


def patches(context: Context) -> Iterator[Patch]:
    key = free_key(context, "NestedTensorCUDA")
    norms = {
        "native_layer_norm": _LayerNorm(context.torch, key),
        "native_layer_norm_backward": _LayerNormBackward(context.torch, key),
    }
    # Sums with an ordinary tensor are CUDA's own; of a backend that has kernels of sums nobody knows whether they take one.
    kernels = {
        **{name: kernel for name, kernel in norms.items() if lacks(context, name, key)},
        **operations(context.torch, key),
    }
    shared = _Shared(context.torch, key, lambda: composed(context, ON_ANY_DEVICE, key, kernels))
    for owner, by_name in ((Fallbacks(context), {key: shared}), (Selection(context), kernels)):
        for name, kernel in by_name.items():
            yield Patch(owner, name, kernel, None, "emulated", "the kernels of every device", note="torch.nested")


class _Shared:
    """Passes a call on to the kernel of every device."""

    def __init__(self, torch: Any, key: str, composed: Callable[[], list[str]]) -> None:
        self.composed = composed
        self._torch, self._key = torch, key
        self._keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, ON_ANY_DEVICE))
        self._has_kernel = cache(torch._C._dispatch_has_kernel_for_dispatch_key)

    def __call__(self, operator: OpOverload, *args: Any, **kwargs: Any) -> Any:
        name = str(operator.name())  # type: ignore[no-untyped-call]
        if name in _OF_THE_CPU or not self._has_kernel(name, ON_ANY_DEVICE):
            raise NotImplementedError(
                f"Could not run '{name}' with arguments from the '{self._key}' backend: there is no kernel for nested "
                "tensors of the strided layout. Those of torch.jagged have more operators."
            )
        return operator.redispatch(self._keys, *with_tensors(self._torch, operator, args), **kwargs)


class _LayerNorm:
    """Over the buffer: the normalized dimensions are the last ones, which are the same in all parts."""

    def __init__(self, torch: Any, key: str) -> None:
        self.key = key
        self._torch = torch

    def __call__(
        self,
        keys: DispatchKeySet,
        source: Tensor,
        shape: list[int],
        weight: Tensor | None,
        bias: Tensor | None,
        eps: float,
    ) -> tuple[Tensor, Tensor, Tensor]:
        if weight is None or bias is None:
            raise ValueError("NestedTensor layer_norm requires weight and bias")  # PyTorch's words
        size = [_length(source, shape)]
        rows = source.contiguous().values().reshape(-1, *size)
        computed, mean, rstd = self._torch.native_layer_norm(rows, size, weight.flatten(), bias.flatten(), eps)
        return like(source, computed), mean, rstd


class _LayerNormBackward:
    """The gradients of `_LayerNorm`."""

    def __init__(self, torch: Any, key: str) -> None:
        self.key = key
        self._torch = torch

    def __call__(
        self,
        keys: DispatchKeySet,
        gradient: Tensor,
        source: Tensor,
        shape: list[int],
        mean: Tensor,
        rstd: Tensor,
        weight: Tensor,
        bias: Tensor,
        wanted: list[bool],
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        size = [weight.numel()]
        rows = (tensor.contiguous().values().reshape(-1, *size) for tensor in (gradient, source))
        of_source, of_weight, of_bias = self._torch.ops.aten.native_layer_norm_backward(
            *rows, size, mean, rstd, weight.flatten(), bias.flatten(), wanted
        )
        return (
            None if of_source is None else like(source, of_source),
            None if of_weight is None else of_weight.reshape(weight.shape),
            None if of_bias is None else of_bias.reshape(bias.shape),
        )


def _length(nested: Tensor, shape: list[int]) -> int:
    """The product of `shape`, which has to be that of the last dimensions of all parts; in PyTorch's words."""
    sizes = nested._nested_tensor_size()[:, -len(shape) :]
    if nested.dim() <= len(shape):
        raise RuntimeError("normalized_shape extends into irregular dimensions for the nested tensor")
    for place, wanted in enumerate(shape):
        if (sizes[:, place] != sizes[:1, place]).any():
            raise RuntimeError("normalized_shape extends into irregular dimensions for the nested tensor")
        if (sizes[:, place] != wanted).any():
            raise RuntimeError(
                f"The shape at dimension {place} of normalized_shape is {wanted}, and that of the nested tensor is not"
            )
    return math.prod(shape)
