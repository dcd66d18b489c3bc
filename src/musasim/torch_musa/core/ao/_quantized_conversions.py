"""Weights of four bits as aten's `_mixed_dtypes_linear` takes them, since torch_musa 2.9.1: in tiles, two numbers to a byte."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from musasim.base import release as _release

if not _release.since("2.9.1"):
    raise ModuleNotFoundError(f"No module named {__name__!r}", name=__name__)

_WHOLE = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)


def prepack_int4_weight_for_mixed_dtypes_linear(weight: Tensor, block_n: int = 256, block_k: int = 128) -> Tensor:
    """Of (depth, columns), numbers from -8 to 7 or 0 to 15: bytes, filled up to whole tiles."""
    if weight.dim() != 2:
        raise ValueError(f"weight must be 2-D (K, N), got {weight.dim()}-D")
    if weight.dtype not in _WHOLE:
        raise ValueError(f"weight must have integer dtype, got {weight.dtype}")
    if block_k % 2 != 0:
        raise ValueError(f"block_k must be even, got {block_k}")
    depth, columns = weight.shape
    digits = pad((weight.to(torch.int16) & 15).to(torch.uint8), (0, -columns % block_n, 0, -depth % block_k))
    tiles = digits.reshape(digits.shape[0] // block_k, block_k, -1, block_n).permute(2, 0, 3, 1)
    packed = tiles[..., 0::2] | (tiles[..., 1::2] << 4)
    return packed.contiguous().view(digits.shape[0], digits.shape[1] // 2)


def prepack_scale_for_mixed_dtypes_linear(scale: Tensor, k: int, block_k: int = 128, block_n: int = 256) -> Tensor:
    """Of (columns) or (groups, columns): float32, a row for each tile, filled up to whole tiles."""
    if scale.dim() not in (1, 2):
        raise ValueError(f"scale must be 1-D or 2-D, got {scale.dim()}-D")
    rows = scale.reshape(-1, scale.shape[-1])
    if k % len(rows) != 0:
        raise ValueError(f"K ({k}) must be divisible by scale_k ({len(rows)})")
    group = k // len(rows)
    if group < block_k:
        raise ValueError(
            f"group_size ({group}) must be >= block_k ({block_k}). Sub-tile group sizes are not yet supported."
        )
    if group % block_k != 0:
        raise ValueError(f"group_size ({group}) must be a multiple of block_k ({block_k})")
    return pad(rows.repeat_interleave(group // block_k, 0), (0, -rows.shape[1] % block_n)).float().contiguous()
