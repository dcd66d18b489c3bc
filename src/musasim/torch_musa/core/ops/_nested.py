"""Layer norm of nested tensors, which torch_musa registers since 2.9.1: of all parts together, as one matrix.

PyTorch's own goes to the kernel of the CPU or of CUDA, past the dispatcher.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from musasim.base import release

_NAME = "native_layer_norm"
_library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]


def _layer_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    made, mean, rstd = torch.ops.aten.native_layer_norm(
        _whole(input, normalized_shape), normalized_shape, weight, bias, eps
    )
    return _parts(made, input), mean, rstd


def _layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: list[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: list[bool],
) -> tuple[Tensor | None, ...]:
    given = _whole(grad_out, normalized_shape), _whole(input, normalized_shape)
    first, *others = torch.ops.aten.native_layer_norm_backward(
        *given, normalized_shape, mean, rstd, weight, bias, output_mask
    )
    return (None if first is None else _parts(first, input)), *others


def _whole(nested: Tensor, last: list[int]) -> Tensor:
    parts = nested.unbind()
    _check(parts, list(last))
    return torch.cat([part.reshape(-1, *last) for part in parts])


def _check(parts: tuple[Tensor, ...], last: list[int]) -> None:
    """What PyTorch asks of nested tensors on any device, in its words (NestedTensorUtils.h)."""
    if parts[0].dim() < len(last):
        raise RuntimeError("normalized_shape extends into irregular dimensions for the nested tensor")
    for place, wanted in enumerate(last):
        found = {part.shape[-len(last) + place] for part in parts}
        if len(found) > 1:
            raise RuntimeError("normalized_shape extends into irregular dimensions for the nested tensor")
        if found != {wanted}:
            raise RuntimeError(f"The shape at dimension {place} of normalized_shape doesn't match the input")


def _parts(whole: Tensor, like: Tensor) -> Tensor:
    """`whole`, cut as `like` is."""
    shapes = [part.shape for part in like.unbind()]
    ends = [0, *accumulate(shape.numel() // whole[:1].numel() for shape in shapes)]
    parts = [whole[begin:end].reshape(shape) for begin, end, shape in zip(ends, ends[1:], shapes)]
    return torch.nested.as_nested_tensor(parts)


_KERNELS: dict[str, Any] = {_NAME: _layer_norm, f"{_NAME}_backward": _layer_norm_backward}

if release.since("2.9.1"):
    for _each, _kernel in _KERNELS.items():
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{_each}", "NestedTensorPrivateUse1"):
            _library.impl(_each, _kernel, "NestedTensorPrivateUse1")
