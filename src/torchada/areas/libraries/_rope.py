"""Rotary position embedding of queries and keys, in operators of PyTorch: `torchada.apply_rope_inplace`, and SGLang's function."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def apply_rope_inplace(
    query: Tensor,
    key: Tensor,
    cos_sin_cache: Tensor,
    positions: Tensor,
    *,
    is_neox: bool,
    rope_dim: int = 0,
) -> None:
    """Rotate `query` and `key`, of the shape [tokens, heads, head size], in place.

    `cos_sin_cache` is [positions, rope_dim], the cosines in its first half and the sines in its second; `positions` has one index
    into it per token. The first `rope_dim` values of each head are rotated (0: as many as the cache has): pairs of a value and the
    one half a dimension later (`is_neox`), or of neighbours. Computed in float32. RuntimeError for tensors that are on the CPU, or
    do not fit.
    """
    rope_dim = rope_dim or cos_sin_cache.size(-1)
    _check(query, key, cos_sin_cache, positions, rope_dim)
    cos, sin = cos_sin_cache.index_select(0, positions.long()).float().unsqueeze(1).chunk(2, -1)
    for tensor in (query, key):
        rotated = tensor[..., :rope_dim]
        first, second = rotated.chunk(2, -1) if is_neox else (rotated[..., 0::2], rotated[..., 1::2])
        a, b = first.float(), second.float()
        turned = (
            a * cos - b * sin,
            b * cos + a * sin,
        )  # both before either is written: a float32 tensor's float() is itself
        first.copy_(turned[0])
        second.copy_(turned[1])


def _check(query: Tensor, key: Tensor, cos_sin_cache: Tensor, positions: Tensor, rope_dim: int) -> None:
    tensors = {"query": query, "key": key, "cos_sin_cache": cos_sin_cache, "positions": positions}
    elsewhere = [f"{name} is on {tensor.device}" for name, tensor in tensors.items() if tensor.device.type == "cpu"]
    if elsewhere:
        raise RuntimeError(f"apply_rope_inplace requires MUSA tensors, and {', '.join(elsewhere)}")
    if query.element_size() != key.element_size():
        raise RuntimeError(f"query and key must have the same element size, and have {query.dtype} and {key.dtype}")
    if query.size(-1) < rope_dim or key.size(-1) < rope_dim or cos_sin_cache.size(-1) != rope_dim or rope_dim % 2:
        shapes = f"{list(query.shape)}, {list(key.shape)} and {list(cos_sin_cache.shape)}"
        raise RuntimeError(
            f"query, key and cos_sin_cache must have {rope_dim} values, an even number; they are {shapes}"
        )
    if query.stride(1) != key.stride(1):
        raise RuntimeError(
            f"query and key must have matching head strides, and have {query.stride(1)} and {key.stride(1)}"
        )
    if not positions.dim() == 1 or not positions.size(0) == query.size(0) == key.size(0):
        raise RuntimeError(f"positions must have one value per token, and has the shape {list(positions.shape)}")
