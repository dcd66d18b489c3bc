"""Two of aten's operators of flash attention, with what torch_musa's kernels refuse: windows, slopes, packed sequences on mp_22.

They take sequences of one length as (batch, heads, length, size), where CUDA's take the heads last but one, and give the sums of
packed sequences as (sequences, heads, longest). 2.7.1 gives no gradients of these, and later releases refuse them on mp_22. Since
2.9.1, nested tensors are such sequences, for an operator of their own.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor

from musasim.base import release

from ..device import get_device_capability

_FORWARD, _BACKWARD = "_flash_attention_forward", "_flash_attention_backward"
_library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]


def _fused(end: str = "") -> Any:
    return getattr(torch.ops.aten, f"_scaled_dot_product_attention_flash_musa{end}")


def _forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cum_seq_q: Tensor | None,
    cum_seq_k: Tensor | None,
    max_q: int,
    max_k: int,
    dropout_p: float,
    is_causal: bool,
    return_debug_mask: bool,
    *,
    scale: float | None = None,
    **options: Any,
) -> tuple[Any, ...]:
    """`seqused_k`, a table of blocks and the number of splits change nothing."""
    _refuse(_FORWARD, options, "alibi_slopes", "window_size_left", "window_size_right")
    if cum_seq_q is None and cum_seq_k is None:
        output, sums, mask, *state = _fused()(query, key, value, None, dropout_p, is_causal, scale=scale)
        return output, sums, *(state or [None]), None, mask
    if cum_seq_q is None or cum_seq_k is None:
        raise RuntimeError(
            "cumulative_sequence_length_q and cumulative_sequence_length_k must be both set or both not set"
        )
    _need_architecture(query)
    output = query.new_empty(*query.shape[:2], value.shape[2])
    sums = query.new_zeros(len(cum_seq_q) - 1, query.shape[1], max_q, dtype=torch.float32)
    for number, (rows, columns) in enumerate(zip(_sequences(cum_seq_q), _sequences(cum_seq_k))):
        parts = _heads_first(query[rows], key[columns], value[columns])
        attended, sum_of_each, *_ = _fused()(*parts, None, dropout_p, is_causal, scale=scale)
        output[rows], sums[number, :, : sum_of_each.shape[-1]] = attended[0].transpose(0, 1), sum_of_each[0]
    return output, sums, None, None, query.new_empty(0, dtype=torch.bool)


def _backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    cum_seq_q: Tensor | None,
    cum_seq_k: Tensor | None,
    max_q: int,
    max_k: int,
    dropout_p: float,
    is_causal: bool,
    rng_state: Tensor | None,
    unused: Tensor | None,
    *,
    scale: float | None = None,
    **options: Any,
) -> tuple[Any, ...]:
    _refuse(_BACKWARD, options, "window_size_left", "window_size_right")
    has_state = release.since("2.9.1")
    if cum_seq_q is None or cum_seq_k is None:
        extra = (rng_state, dropout_p) if has_state else ()
        parts = grad_out, query, key, value, out, logsumexp, logsumexp.new_empty(0)
        return _fused("_backward")(*parts, *extra, is_causal, scale=scale)[:3]  # type: ignore[no-any-return]
    if not has_state:
        raise RuntimeError(f"{_BACKWARD} doesn't support packed sequences for MUSA backend")
    _need_architecture(query)
    gradients = tuple(torch.empty_like(tensor) for tensor in (query, key, value))
    nothing = logsumexp.new_empty(0), torch.zeros(2, dtype=torch.uint64), 0.0  # dropout is not known here
    for number, (rows, columns) in enumerate(zip(_sequences(cum_seq_q), _sequences(cum_seq_k))):
        places = rows, columns, columns
        taken = (grad_out[rows], query[rows], key[columns], value[columns], out[rows])
        sums = logsumexp[number : number + 1, :, : rows.stop - rows.start]
        parts = _fused("_backward")(*_heads_first(*taken), sums, *nothing, is_causal, scale=scale)
        for gradient, place, part in zip(gradients, places, parts):
            gradient[place] = part[0].transpose(0, 1)
    return gradients


def _nested_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    """Of nested tensors, whose parts are (heads, length, size)."""
    offsets, of_keys = _offsets(query), _offsets(key)
    longest = _longest(offsets), _longest(of_keys)
    given = _packed(query), _packed(key), _packed(value), offsets, of_keys, *longest
    output, sums, *_, mask = _forward(*given, dropout_p, is_causal, return_debug_mask, scale=scale)
    state = torch.zeros(2, dtype=torch.uint64)
    return _unpacked(output, offsets), sums, offsets, of_keys, *longest, state, state.new_empty(0), mask


def _nested_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    cum_seq_q: Tensor,
    cum_seq_k: Tensor,
    max_q: int,
    max_k: int,
    dropout_p: float,
    is_causal: bool,
    philox_seed: Tensor,
    philox_offset: Tensor,
    *,
    scale: float | None = None,
) -> tuple[Tensor, ...]:
    packed = map(_packed, (grad_out, query, key, value, out))
    rest = cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, philox_seed, philox_offset
    given: Any = (*packed, logsumexp, *rest)
    gradients = _backward(*given, scale=scale)
    return tuple(_unpacked(*each) for each in zip(gradients, (cum_seq_q, cum_seq_k, cum_seq_k)))


def _packed(nested: Tensor) -> Tensor:
    return torch.cat([part.transpose(0, 1) for part in nested.unbind()])


def _unpacked(packed: Tensor, offsets: Tensor) -> Tensor:
    parts = [packed[rows].transpose(0, 1).contiguous() for rows in _sequences(offsets)]
    return torch.nested.as_nested_tensor(parts)


def _offsets(nested: Tensor) -> Tensor:
    ends = accumulate((part.shape[1] for part in nested.unbind()), initial=0)
    return torch.tensor(list(ends), dtype=torch.int32, device=nested.device)


def _longest(offsets: Tensor) -> int:
    lengths: list[int] = offsets.diff().tolist()
    return max(lengths)


def _refuse(operator: str, options: dict[str, Any], *names: str) -> None:
    for name in names:
        if options.get(name) is not None:
            raise RuntimeError(f"{operator} doesn't support {name} for MUSA backend")


def _need_architecture(tensor: Tensor) -> None:
    if release.since("2.9.1") and get_device_capability(tensor.device) == (2, 2):
        raise RuntimeError("MUSA Flash Attention Varlen is not supported on mp22 (arch 2.2)")


def _sequences(offsets: Tensor) -> list[slice]:
    return [slice(*pair) for pair in pairwise(offsets.tolist())]


def _heads_first(*tensors: Tensor) -> list[Tensor]:
    """(rows, heads, size) as a batch of one."""
    return [tensor.transpose(0, 1).unsqueeze(0) for tensor in tensors]


def _register(kernels: dict[str, Any], key: str) -> None:
    """What is there already stays, which is so when the module is loaded again."""
    for name, kernel in kernels.items():
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key):
            _library.impl(name, kernel, key)


_register({_FORWARD: _forward, _BACKWARD: _backward}, "PrivateUse1")
if release.since("2.9.1"):
    _OF_NESTED = "_scaled_dot_product_flash_attention"
    _register({_OF_NESTED: _nested_forward, f"{_OF_NESTED}_backward": _nested_backward}, "NestedTensorPrivateUse1")
