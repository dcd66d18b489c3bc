"""Stands in for Moore Threads' flash_attn_interface (mate): attention over a paged cache in plain PyTorch.

Nothing here waits for the device or depends on values in its memory, so a graph can capture it.
"""

from __future__ import annotations

from typing import Any

import torch
from sgl_kernel._absent import absent


def flash_attn_with_kvcache(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    k: torch.Tensor | None = None,
    v: torch.Tensor | None = None,
    *,
    cache_seqlens: torch.Tensor,
    page_table: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    max_seqlen_q: int | None = None,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    return_softmax_lse: bool = False,
    **others: Any,
) -> Any:
    """Attention of queries (tokens, heads, size) of several sequences, packed, over their pages of the cache.

    k_cache, v_cache: (pages, tokens of a page, heads, size); page_table: (sequences, pages); cache_seqlens: the length of each
    sequence, its queries included; cu_seqlens_q: where its queries begin. Returns (tokens, heads, size), and (heads, tokens) of
    log-sum-exp if asked for.
    """
    if k is not None or v is not None or softcap or any(others.get(name) is not None for name in ("qv", "sinks")):
        raise NotImplementedError(
            "the stand-in for flash_attn_interface knows plain attention over a filled cache only"
        )
    keys, values = (_pages(cache, page_table) for cache in (k_cache, v_cache))
    sequence, position = _places(cu_seqlens_q, q)
    lengths = cache_seqlens.long()[sequence]
    position = position + lengths - cu_seqlens_q.diff().long()[sequence]
    place = torch.arange(keys.shape[1], device=q.device)
    seen = place[None, :] < lengths[:, None]
    if causal:
        seen = seen & (place[None, :] <= position[:, None])
    if window_size[0] >= 0:
        seen = seen & (place[None, :] >= position[:, None] - window_size[0])
    output, lse = _attend(q, keys[sequence], values[sequence], seen, softmax_scale)
    return (output, lse.T) if return_softmax_lse else output


def flash_attn_varlen_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int | None = None,
    max_seqlen_k: int | None = None,
    *,
    softmax_scale: float | None = None,
    causal: bool = False,
    return_softmax_lse: bool = False,
    **others: Any,
) -> Any:
    """As flash_attn_with_kvcache, for keys and values that are packed like the queries."""
    own, position = _places(cu_seqlens_q, q)
    other, place = _places(cu_seqlens_k, k)
    seen = own[:, None] == other[None, :]
    if causal:  # the last query sees the last key
        late = (cu_seqlens_k.diff() - cu_seqlens_q.diff()).long()[own]
        seen = seen & (place[None, :] <= (position + late)[:, None])
    tokens = q.shape[0]
    output, lse = _attend(q, k.expand(tokens, *k.shape), v.expand(tokens, *v.shape), seen, softmax_scale)
    return (output, lse.T) if return_softmax_lse else output


def _places(begins: torch.Tensor, packed: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """For each token, the sequence that it is of, and its place there. Tokens beyond the last sequence are padding."""
    token = torch.arange(packed.shape[0], device=packed.device)
    sequence = torch.searchsorted(begins.long(), token, right=True).sub(1).clamp(0, begins.shape[0] - 2)
    return sequence, token - begins.long()[sequence]


def get_scheduler_metadata(**shapes: Any) -> None:
    """The kernel's plan for its blocks; the stand-in has none."""


def _pages(cache: torch.Tensor, page_table: torch.Tensor) -> torch.Tensor:
    """The cache's entries of each sequence, in order: (sequences, tokens, heads, size). Unused pages may have any number."""
    chosen = cache[page_table.long().clamp(0, cache.shape[0] - 1)]
    return chosen.flatten(1, 2)


def _attend(
    q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, seen: torch.Tensor, scale: float | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """q: (tokens, heads, size); keys, values: (tokens, places, fewer heads, size); seen: (tokens, places)."""
    share = q.shape[1] // keys.shape[2]
    keys, values = (each.repeat_interleave(share, dim=2).float() for each in (keys, values))
    scores = torch.einsum("thd,tshd->ths", q.float(), keys) * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores.masked_fill(~seen[:, None, :], float("-inf"))
    weights = torch.nan_to_num(torch.softmax(scores, dim=-1))
    output = torch.einsum("ths,tshd->thd", weights, values).to(q.dtype)
    return output, torch.logsumexp(scores, dim=-1)


def __getattr__(name: str) -> Any:
    return absent(__name__, name)
