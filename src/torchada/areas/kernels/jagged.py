"""Attention of jagged nested tensors, one sequence after another.

For CUDA, torch takes kernels that know sequences of different lengths. Without them it goes through nested tensors of the strided
layout, for which torch_musa 2.7.1 lacks most kernels (musa_functions.yaml): there is no way that works. Torch never takes the
operators of flash attention on the device, because it asks whether CUDA's kernels can be used. They know no single precision, and
those of the area `flash_attention` no dropout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torchada.redirect.types import Tensor

_API = "torch.nn.functional.scaled_dot_product_attention"


def patches(context: Context) -> Iterator[Patch]:
    from torch.nested._internal import ops, sdpa

    original = sdpa.jagged_scaled_dot_product_attention
    attention = disguise(_attention(context, sdpa, original), original)
    for owner in (sdpa, ops):
        yield Patch(owner, original.__name__, attention, None, "emulated", _API, note="of jagged nested tensors")


def _attention(context: Context, sdpa: Any, original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    device_type = context.backend.device_type

    def attention(
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        if query.device.type != device_type or query.dim() != 4 or query._ragged_idx != 2:
            return original(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        query, key, value, attn_mask = sdpa._autocast(query, key, value, attn_mask)
        sdpa._validate_sdpa_input(query, key, value, attn_mask, dropout_p, is_causal, scale)
        options = {"dropout_p": dropout_p, "is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
        triples = zip(query.unbind(), key.unbind(), value.unbind(), strict=True)
        return _joined(context, query, [_one(context, *sequences, options) for sequences in triples])

    return attention


def _one(context: Context, query: Tensor, key: Tensor, value: Tensor, options: dict[str, Any]) -> Tensor:
    """From (heads, length, size) to (length, heads, size)."""
    attention = context.torch.nn.functional.scaled_dot_product_attention
    batch = (tensor.unsqueeze(0) for tensor in (query, key, value))  # fused kernels take four dimensions
    computed: Tensor = attention(*batch, **options).squeeze(0).transpose(0, 1)
    return computed


def _joined(context: Context, query: Any, parts: list[Tensor]) -> Tensor:
    """The parts as a nested tensor whose lengths are those of `query`, (batch, heads, length, size)."""
    from torch.nested._internal.nested_tensor import nested_view_from_values_offsets

    torch, lengths = context.torch, query.lengths()
    # With lengths of its own, there are gaps between the sequences of the query.
    offsets = query.offsets() if lengths is None else torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    view: Any = nested_view_from_values_offsets
    made: Tensor = view(
        torch.cat(parts), offsets, min_seqlen=query._maybe_min_seqlen, max_seqlen=query._maybe_max_seqlen
    ).transpose(1, 2)
    return made
