"""torch.ops.aten._scaled_dot_product_attention_flash_musa of each release, against PyTorch's own attention."""

from __future__ import annotations

import pytest

from support.fresh_process import run as fresh

pytestmark = pytest.mark.once

RELEASES = ["2.7.1", "2.9.1", "2.11.0"]
START = """
import torch, torch_musa
from torch.nn.functional import scaled_dot_product_attention as expected
flash, backward = (getattr(torch.ops.aten, f"_scaled_dot_product_attention_flash_musa{end}") for end in ("", "_backward"))
HAS_STATE = RELEASE != "2.7.1"

def made(*shape):
    return torch.randn(shape, device="musa", requires_grad=True)

def close(one, other):
    assert one.shape == other.shape, (one.shape, other.shape)
    torch.testing.assert_close(one.cpu(), other.cpu(), rtol=1e-4, atol=1e-4)

torch.manual_seed(0)
query, key, value = made(2, 4, 5, 8), made(2, 2, 6, 8), made(2, 2, 6, 8)
upstream = torch.randn(2, 4, 5, 8, device="musa")
"""


def run(release: str, code: str) -> None:
    fresh(f"RELEASE = {release!r}\n{START}\n{code}", MUSASIM_RELEASE=release, forked=True)


VALUES = """
masks = [None, torch.rand(5, 6, device="musa") > 0.3, torch.randn(2, 4, 5, 6, device="musa")]
padding = torch.ones(2, 6, dtype=torch.bool, device="musa")
padding[1, 4:] = False
cases = [(dict(attn_mask=mask), mask) for mask in masks] + [(dict(attn_mask=padding), padding[:, None, None])]
cases += [(dict(is_causal=True), None), (dict(scale=0.3), None)]
for options, mask in cases:
    output, sums, dropout_mask, *state = flash(query, key, value, **options)
    wanted = expected(query, key, value, **(options | {"attn_mask": mask}), enable_gqa=True)
    close(output, wanted)
    assert output.transpose(1, 2).is_contiguous() and sums.dtype == torch.float32 and sums.shape == (2, 4, 5)
    assert dropout_mask.numel() == 0 and len(state) == HAS_STATE
    got, want = (torch.autograd.grad(one, (query, key, value), upstream) for one in (output, wanted))
    for one, other in zip(got, want):
        close(one, other)
if HAS_STATE:
    assert state[0].device.type == "cpu" and state[0].dtype == torch.uint64 and state[0].tolist() == [0, 0]
close(flash(query[0], key[0], value[0])[0], flash(query, key, value)[0][0])
half = flash(*(tensor.half() for tensor in (query, key, value)))
assert half[0].dtype == torch.float16 and half[1].dtype == torch.float32
try:
    flash(query, key, value, attn_mask=masks[1], is_causal=True)
except RuntimeError as error:
    assert "should not be set when is_causal=True" in str(error)
else:
    raise SystemExit("a mask was taken beside is_causal")
"""


@pytest.mark.full
@pytest.mark.parametrize("release", RELEASES)
def test_values_and_gradients_are_those_of_attention(release: str) -> None:
    run(release, VALUES)


DROPOUT = """
import inspect
def drawn(p=0.5, **options):
    torch.manual_seed(7)
    return flash(query, key, value, dropout_p=p, **options)
output, sums, mask, *state = drawn()
close(drawn()[0], output)
assert not torch.equal(drawn(0.2)[0], output)
torch.manual_seed(7)
first, second = (flash(query, key, value, dropout_p=0.5)[0] for _ in range(2))
assert not torch.equal(first, second)
if HAS_STATE:
    assert mask.numel() == 0 and state[0].tolist() == [7, 0]
    mask = drawn(return_debug_mask=True)[2]
    given = backward(upstream, query, key, value, output, sums, torch.empty(0, device="musa"), state[0], 0.5, False)
else:
    given = backward(upstream, query, key, value, output, sums, mask, False)
assert mask.shape == (2, 4, 5, 6) and given[3] is None
weights = (query @ key.repeat_interleave(2, 1).mT / 8**0.5).softmax(-1) * mask
wanted = weights @ value.repeat_interleave(2, 1)
close(output, wanted)
by_autograd = torch.autograd.grad(output, (query, key, value), upstream)
for one, other, third in zip(given, torch.autograd.grad(wanted, (query, key, value), upstream), by_autograd):
    close(one, other)
    close(third, other)
"""


@pytest.mark.full
@pytest.mark.parametrize("release", RELEASES)
def test_dropout_follows_the_generator_and_the_backward_drops_the_same(release: str) -> None:
    run(release, DROPOUT)


@pytest.mark.parametrize("release", RELEASES)
def test_the_signature_is_that_of_the_release(release: str) -> None:
    code = """
    forward, back = flash.default._schema, backward.default._schema
    names = [argument.name for argument in forward.arguments]
    assert ("return_debug_mask" in names) is HAS_STATE and [each.name for each in forward.returns][3:] == ["rng_state"] * HAS_STATE
    names = [argument.name for argument in back.arguments]
    assert ("rng_state" in names) is ("dropout_p" in names) is HAS_STATE and len(back.returns) == 4
    """
    run(release, "\n".join(line.strip() for line in code.splitlines()))
