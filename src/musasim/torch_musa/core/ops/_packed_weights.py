"""Products with packed weights of four and eight bits, which torch_musa has since 2.9.1 (int4mm.mu, MixedTypesLinear.mu).

What a product of four bits gives is read from the vendor's source, whose own test looks at shapes only: a weight is a signed
number, where CUDA's is 8 less than an unsigned one, and within 32 columns weights meet other columns than they were packed for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from musasim.base import release

from ..device import get_device_capability

#: Rows of weights that a warp takes, and numbers that it takes of each of these at a time.
_ROWS, _DEPTH = 8, 16
#: The tile of a weight of `_mixed_dtypes_linear`: columns and rows.
_TILE = 256, 128
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": torch.clone,
    "relu": torch.relu,
    "silu": torch.nn.functional.silu,
}
_library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise RuntimeError(what)


def _int8_mm(given: Tensor, weight: Tensor, scales: Tensor) -> Tensor:
    """Of any type of number, in float32."""
    _need(given.dim() == 2, "x must be a 2D tensor")
    _need(weight.dim() == 2 and weight.dtype == torch.int8, "w must be a 2D int8 tensor")
    _need(given.shape[1] == weight.shape[1], "K dimension mismatch between x and w")
    _need(scales.dim() == 1 and len(scales) == len(weight), "scales must be 1D, with an element for each row of w")
    return (given.float() @ weight.float().t()) * scales.float()


def _pack_int4(weight: Tensor, inner_tiles: int) -> Tensor:
    """As CUDA packs them: the even and the odd numbers of four bytes, which are eight columns apart, make one number."""
    _need(weight.dim() == 2, "Expected a 2D weight")
    _need(weight.dtype == torch.uint8, "Expected a weight of uint8")
    _need(weight.is_contiguous(), "Expected a contiguous weight")
    _need(inner_tiles in (2, 4, 8), "Expected innerKTiles to be 2, 4 or 8")
    depth = inner_tiles * _DEPTH // 2
    _need(weight.shape[1] > 0 and weight.shape[1] % depth == 0, "Expected a whole number of innermost tiles")
    rows = -(-weight.shape[0] // _ROWS)
    padded = torch.nn.functional.pad(weight.cpu(), (0, 0, 0, rows * _ROWS - weight.shape[0]))
    parts = padded.reshape(rows, _ROWS, -1, inner_tiles // 2, 4, 4).permute(0, 2, 1, 5, 3, 4).to(torch.int64)
    places = torch.arange(4) * 4
    words = (((parts >> 4) << places) | ((parts & 15) << (places + 16))).sum(-1)
    return words.to(torch.int32).reshape(rows, -1, 32, inner_tiles // 2).to(weight.device)


def _int4_mm(given: Tensor, weight: Tensor, group: int, scales_and_zeros: Tensor) -> Tensor:
    _need(
        get_device_capability(given.device) >= (3, 1),
        "int4 quantized matmul is only supported on MUSA devices with compute capability 3.1 or higher",
    )
    _check_int4(given, weight, group, scales_and_zeros)
    numbers = _numbers_of(weight.cpu())
    scales, zeros = (part.repeat_interleave(group, 0).t() for part in scales_and_zeros.cpu().unbind(-1))
    restored = (numbers * scales.float() + zeros.float()).to(torch.bfloat16)
    return (given.float() @ restored.float().t().to(given.device)).to(torch.bfloat16)


def _check_int4(given: Tensor, weight: Tensor, group: int, scales_and_zeros: Tensor) -> None:
    _need(given.dim() == 2 and given.is_contiguous(), "Expected a contiguous matrix")
    _need(given.dtype == torch.bfloat16, "Expected a matrix of bfloat16")
    _need(weight.dim() == 4 and weight.is_contiguous() and weight.dtype == torch.int32, "Expected packed weights")
    inner_tiles = weight.shape[3] * 2
    _need(inner_tiles in (2, 4, 8) and weight.shape[2] == 32, "Expected packed weights")
    _need(weight.shape[1] == given.shape[1] // (inner_tiles * _DEPTH), "The matrix and the weights do not fit")
    _need(group in (32, 64, 128, 256) and given.shape[1] % group == 0, "Expected qGroupSize to be 32, 64, 128 or 256")
    _need(
        scales_and_zeros.dim() == 3 and scales_and_zeros.shape[1:] == (weight.shape[0] * _ROWS, 2),
        "Expected a scale and a zero for each row and group",
    )


def _numbers_of(weight: Tensor) -> Tensor:
    """(rows, columns), as a warp takes them: of each word, four for a tile of 16 columns, and four for the next."""
    words = weight.to(torch.int64).reshape(weight.shape[0], weight.shape[1], _ROWS, 4, -1, 1)
    digits = (words >> (torch.arange(8) * 4)) & 15
    signed = torch.where(digits > 7, digits - 16, digits)
    signed = signed.reshape(*signed.shape[:-1], 2, 2, 2)  # tile, half of it, neighbours
    return signed.permute(0, 2, 1, 4, 5, 6, 3, 7).reshape(weight.shape[0] * _ROWS, -1).float()


def _mixed_linear(
    input: Tensor, weight: Tensor, scale: Tensor, *, bias: Tensor | None = None, activation: str | None = None
) -> Tensor:
    """A weight of four bits in tiles, with factors for each tile's columns (`torch_musa.core.ao._quantized_conversions`)."""
    _check_mixed(input, weight, scale, bias)
    activate = {"none": lambda made: made, "relu": torch.relu, "silu": torch.nn.functional.silu}.get(
        activation or "none"
    )
    if activate is None:
        raise RuntimeError(
            f'_mixed_dtypes_linear: Activation "{activation}" is not supported. Supported: none, relu, silu'
        )
    depth = input.shape[-1]
    numbers = _untiled(weight.cpu(), depth) * scale.cpu().repeat_interleave(depth // len(scale), 0)
    made = input.reshape(-1, depth).float() @ numbers.to(input.device)
    made = _ACTIVATIONS[activation or "none"](made if bias is None else made + bias.float())
    return made.to(input.dtype).reshape(*input.shape[:-1], -1)


def _check_mixed(input: Tensor, weight: Tensor, scale: Tensor, bias: Tensor | None) -> None:
    name, depth = "_mixed_dtypes_linear:", input.shape[-1]
    _need(get_device_capability(input.device) >= (3, 1), f"{name} requires a device of capability 3.1")
    _need(input.dtype in (torch.float16, torch.bfloat16), f"{name} The input datatype {input.dtype} is not supported")
    _need(weight.dtype == torch.uint8, f"{name} The weight datatype {weight.dtype} is not supported")
    _need(scale.dtype == torch.float32, f"{name} Expected scale datatype Float , but got {scale.dtype}")
    _need(weight.dim() == 2 and weight.is_contiguous(), f"{name} Expected pre-packed 2D weight, got {weight.dim()}-D")
    _need(scale.dim() == 2 and scale.is_contiguous(), f"{name} Expected pre-packed 2D scale, got {scale.dim()}-D")
    columns = scale.shape[1]
    if bias is not None:
        _need(bias.dtype == input.dtype, f"{name} Expected bias datatype {input.dtype} but got {bias.dtype}")
        _need(bias.shape == (columns,), f"{name} Expected bias to have {columns} elements, but got {bias.numel()}")
    _need(depth % len(scale) == 0, f"{name} K ({depth}) must be divisible by scale_k ({len(scale)})")
    _need(columns % _TILE[0] == 0, f"{name} N ({columns}) must be a multiple of 256 (BlockN of the W4A16 kernel)")
    _need(depth % _TILE[1] == 0, f"{name} K ({depth}) must be a multiple of 128 (BlockK of the W4A16 kernel)")


def _untiled(weight: Tensor, depth: int) -> Tensor:
    """(depth, columns): a byte has two numbers, the lower one first."""
    tiles = weight.reshape(-1, depth // _TILE[1], _TILE[0], _TILE[1] // 2).to(torch.int16)
    numbers = torch.stack([tiles & 15, tiles >> 4], -1).flatten(-2)
    return torch.where(numbers > 7, numbers - 16, numbers).permute(1, 3, 0, 2).reshape(depth, -1).float()


_KERNELS: dict[str, Any] = {
    "_weight_int8pack_mm": _int8_mm,
    "_convert_weight_to_int4pack": _pack_int4,
    "_weight_int4pack_mm": _int4_mm,
    "_mixed_dtypes_linear": _mixed_linear,
}

if release.since("2.9.1"):
    for _name, _kernel in _KERNELS.items():
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{_name}", "PrivateUse1"):  # not when loaded again
            _library.impl(_name, _kernel, "PrivateUse1")
