"""flash-linear-attention: chunked and recurrent kernels of six models against their definitions, forward and backward."""

import torch
from comparing import report, with_gradients
from fla.ops import delta_rule, gated_delta_rule, gla, linear_attn, retention, simple_gla
from torch.nn import functional as F

B, T, H, D = 1, 32, 2, 16
SCALE = D**-0.5


def inputs(*more):
    """Queries, keys of length 1, values, and what the model takes besides: decays are logarithms."""
    made = {
        "decay": lambda: F.logsigmoid(torch.randn(B, T, H, D)),
        "decay of heads": lambda: F.logsigmoid(torch.randn(B, T, H)),
        "rate": lambda: torch.randn(B, T, H).sigmoid(),
    }
    q, k, v = (torch.randn(B, T, H, D) for _ in range(3))
    return [q, F.normalize(k, dim=-1), v, *(made[each]() for each in more)]


def recurrence(q, k, v, decay=None, rate=None):
    """The states of a linear attention one after the other: decayed, corrected by the delta rule if there is a rate, added to."""
    state, outputs = q.new_zeros(B, H, D, D), []
    for t in range(T):
        if decay is not None:
            state = state * decay[:, t].reshape(B, H, -1, 1).exp()
        key, value = k[:, t], v[:, t]
        if rate is not None:
            value = (value - torch.einsum("bhkv,bhk->bhv", state, key)) * rate[:, t, :, None]
        state = state + key[..., :, None] * value[..., None, :]
        outputs.append(torch.einsum("bhkv,bhk->bhv", state, q[:, t] * SCALE))
    return torch.stack(outputs, 1)


def retained(q, k, v):
    """Retention's decay belongs to the head."""
    decay = torch.log1p(-(2.0 ** (-5 - torch.arange(H))))
    return recurrence(q, k, v, decay.expand(B, T, H))


def case(kernel, reference, *more, **options):
    return lambda: with_gradients(lambda *each: kernel(*each, **options)[0], reference, *inputs(*more))


def in_bfloat16(kernel, reference, *more):
    """The package refuses float32 for this kernel. Both get numbers that bfloat16 has; the tolerance is the caller's."""

    def ours(*each):
        return kernel(*(tensor.bfloat16() for tensor in each))[0].float()

    return lambda: with_gradients(ours, reference, *(each.bfloat16().float() for each in inputs(*more)))


def delta(q, k, v, rate):
    return recurrence(q, k, v, None, rate)


report(
    {
        "chunk_linear_attn": case(linear_attn.chunk_linear_attn, recurrence, normalize=False),
        "fused_recurrent_linear_attn": case(linear_attn.fused_recurrent_linear_attn, recurrence, normalize=False),
        "chunk_retention": case(retention.chunk_retention, retained),
        "fused_recurrent_retention": case(retention.fused_recurrent_retention, retained),
        "chunk_gla": case(gla.chunk_gla, recurrence, "decay"),
        "fused_recurrent_gla": case(gla.fused_recurrent_gla, recurrence, "decay"),
        "chunk_simple_gla": case(simple_gla.chunk_simple_gla, recurrence, "decay of heads"),
        "fused_recurrent_simple_gla": case(simple_gla.fused_recurrent_simple_gla, recurrence, "decay of heads"),
        "chunk_delta_rule": in_bfloat16(delta_rule.chunk_delta_rule, delta, "rate"),
        "fused_recurrent_delta_rule": case(delta_rule.fused_recurrent_delta_rule, delta, "rate"),
        "chunk_gated_delta_rule": case(gated_delta_rule.chunk_gated_delta_rule, recurrence, "decay of heads", "rate"),
    }
)
