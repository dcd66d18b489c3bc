"""Fused attention that the vendor's torch declares, and that programs call by name: vLLM's and Megatron's ports to MUSA do.

Since 2.9.1, the operator takes `return_debug_mask` and gives the state of the random numbers, from which the backward makes the
mask of dropout again. Before, it gave the mask.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from musasim.base import release

from .operators import declared

_NAME = "_scaled_dot_product_attention_flash_musa"
_INPUTS = "Tensor query, Tensor key, Tensor value"
_MASKED = "Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False"
_RESULTS = "Tensor output, Tensor logsumexp, Tensor dropout_mask"
_GRADIENTS = "Tensor grad_query, Tensor grad_key, Tensor grad_value, Tensor grad_attn_mask"
_LAST = "Tensor? attn_mask=None, *, float? scale=None"
_SCHEMAS = {
    "2.7.1": (
        f"{_NAME}({_INPUTS}, {_MASKED}, *, float? scale=None) -> ({_RESULTS})",
        f"{_NAME}_backward(Tensor grad_out, {_INPUTS}, {_RESULTS}, bool is_causal, {_LAST}) -> ({_GRADIENTS})",
    ),
    "2.9.1": (
        f"{_NAME}({_INPUTS}, {_MASKED}, bool return_debug_mask=False, *, float? scale=None) -> ({_RESULTS}, Tensor rng_state)",
        f"{_NAME}_backward(Tensor grad_out, {_INPUTS}, {_RESULTS}, Tensor rng_state, float dropout_p, bool is_causal, {_LAST})"
        f" -> ({_GRADIENTS})",
    ),
}
# By how much the kernel moves the generator on.
_NUMBERS_A_THREAD = 4


def install() -> None:
    """Add the two operators, unless this torch has them."""
    if hasattr(torch.ops.aten, _NAME):
        return
    module: Any = torch.library
    library = declared(release.of(_SCHEMAS))
    has_state = release.since("2.9.1")
    library.impl(_NAME, _forward_since_2_9_1 if has_state else _forward, "PrivateUse1")
    library.impl(f"{_NAME}_backward", _backward_since_2_9_1 if has_state else _backward, "PrivateUse1")
    remember = partial(_remember, has_state=has_state)
    module.register_autograd(f"aten::{_NAME}", _gradients, setup_context=remember, lib=library)


def _forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    scores = _scores(query, key, attn_mask, is_causal, scale)
    factors = _factors(scores, dropout_p, _state(query.device, dropout_p))
    return *_output(scores, value, factors), _shown(factors, query)


def _forward_since_2_9_1(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    scores = _scores(query, key, attn_mask, is_causal, scale)
    state = _state(query.device, dropout_p)
    factors = _factors(scores, dropout_p, state)
    return *_output(scores, value, factors), _shown(factors if return_debug_mask else None, query), state


def _backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    logsumexp: Tensor,
    dropout_mask: Tensor,
    is_causal: bool,
    attn_mask: Tensor | None = None,
    *,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor, None]:
    weights = _weights(query, key, logsumexp, attn_mask, is_causal, scale)
    factors = dropout_mask if dropout_mask.numel() else None
    return _gradients_of(grad_out, query, key, value, output, weights, factors, scale)


def _backward_since_2_9_1(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    logsumexp: Tensor,
    dropout_mask: Tensor,
    rng_state: Tensor,
    dropout_p: float,
    is_causal: bool,
    attn_mask: Tensor | None = None,
    *,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor, None]:
    weights = _weights(query, key, logsumexp, attn_mask, is_causal, scale)
    factors = _factors(weights, dropout_p, rng_state)
    return _gradients_of(grad_out, query, key, value, output, weights, factors, scale)


def _scores(query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None) -> Tensor:
    """(batch, heads, queries, keys) in single precision, minus infinity where a query must not see a key."""
    if is_causal and mask is not None:
        raise RuntimeError("MUSA SPDA: Explicit attn_mask should not be set when is_causal=True")
    scores = query.float() @ _for_each(query, key).mT * _scale(query, scale)
    if is_causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if mask is None:
        return scores
    if mask.dim() == 2 and mask.shape != scores.shape[-2:]:
        mask = mask[:, None, None]  # (batch, keys)
    return scores.masked_fill(mask.logical_not(), float("-inf")) if mask.dtype == torch.bool else scores + mask


def _weights(
    query: Tensor, key: Tensor, sums: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None
) -> Tensor:
    """What the softmax gave, before dropout."""
    return (_scores(query, key, mask, is_causal, scale) - sums.unsqueeze(-1)).exp()


def _scale(query: Tensor, scale: float | None) -> float:
    return query.shape[-1] ** -0.5 if scale is None else scale


def _for_each(query: Tensor, tensor: Tensor) -> Tensor:
    """Keys or values in single precision, with a head for each head of the queries."""
    return tensor.float().repeat_interleave(query.shape[-3] // tensor.shape[-3], -3)


def _state(device: torch.device, dropout_p: float) -> Tensor:
    """The seed and the offset of the device's generator, which is moved on; zeros where nothing is drawn."""
    if not dropout_p > 0:
        return torch.zeros(2, dtype=torch.uint64)
    generator: Any = torch.musa.default_generators[device.index]  # type: ignore[attr-defined]
    seed, offset = generator.initial_seed(), generator.get_offset()
    generator.set_offset(offset + _NUMBERS_A_THREAD)
    return torch.tensor([seed, offset], dtype=torch.uint64)


def _factors(scores: Tensor, dropout_p: float, state: Tensor) -> Tensor | None:
    """What dropout multiplies each weight by, drawn from this state."""
    if not dropout_p > 0:
        return None
    generator: Any = torch.Generator(device=scores.device)
    seed, offset = state.tolist()
    generator.manual_seed(seed)
    generator.set_offset(offset)
    kept = torch.rand(scores.shape, generator=generator, device=scores.device) >= dropout_p
    return kept / (1 - dropout_p)


def _shown(factors: Tensor | None, query: Tensor) -> Tensor:
    """The result that is called the mask of dropout."""
    return query.new_empty(0, dtype=torch.float32) if factors is None else factors


def _output(scores: Tensor, value: Tensor, factors: Tensor | None) -> tuple[Tensor, Tensor]:
    """What is attended to, in memory with the heads after the queries, and the logarithms of the sums."""
    weights = scores.softmax(-1)
    if factors is not None:
        weights = weights * factors
    made = (weights @ _for_each(scores, value)).to(value.dtype)
    return made.transpose(-3, -2).contiguous().transpose(-3, -2), scores.logsumexp(-1)


def _gradients_of(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    weights: Tensor,
    factors: Tensor | None,
    scale: float | None,
) -> tuple[Tensor, Tensor, Tensor, None]:
    """Of query, key and value. The kernel gives none of a mask."""
    grad = grad_out.float()
    if factors is None:
        factors = torch.ones_like(weights)
    grad_value = (weights * factors).mT @ grad
    grad_weights = grad @ _for_each(query, value).mT * factors
    grad_scores = weights * (grad_weights - (grad * output.float()).sum(-1, keepdim=True)) * _scale(query, scale)
    grad_query, grad_key = grad_scores @ _for_each(query, key), grad_scores.mT @ query.float()
    return grad_query.to(query.dtype), _of_each(grad_key, key), _of_each(grad_value, value), None


def _of_each(grad: Tensor, like: Tensor) -> Tensor:
    """The sum over the heads of queries that share one of keys."""
    heads, group = like.shape[-3], grad.shape[-3] // like.shape[-3]
    return grad.reshape(*grad.shape[:-3], heads, group, *grad.shape[-2:]).sum(-3).to(like.dtype)


def _remember(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any, *, has_state: bool) -> None:
    query, key, value, mask, dropout_p, is_causal, *_ = inputs
    ctx.mark_non_differentiable(*output[1:])
    ctx.save_for_backward(query, key, value, *output, mask)
    ctx.extra = (dropout_p, is_causal) if has_state else (is_causal,)
    ctx.scale, ctx.inputs = keyword_only_inputs["scale"], len(inputs)


def _gradients(ctx: Any, grad_out: Tensor, *_: Any) -> tuple[Any, ...]:
    *saved, mask = ctx.saved_tensors
    operator: Any = getattr(torch.ops.aten, f"{_NAME}_backward")
    gradients = operator(grad_out, *saved, *ctx.extra, mask, scale=ctx.scale)
    return *gradients[:3], *(None for _ in range(ctx.inputs - 3))
