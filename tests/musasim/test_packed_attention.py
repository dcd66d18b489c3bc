"""torch.ops.aten._flash_attention_forward and its backward on each release: what torch_musa's kernels give and refuse."""

from __future__ import annotations

import pytest

from support.fresh_process import run as fresh

pytestmark = pytest.mark.once

RELEASES = ["2.7.1", "2.9.1", "2.11.0"]
START = """
import torch, torch_musa
from torch.nn.functional import scaled_dot_product_attention as expected
forward, backward = torch.ops.aten._flash_attention_forward, torch.ops.aten._flash_attention_backward

def made(*shape):
    return torch.randn(shape, device="musa", requires_grad=True)

def refused(text, call):
    try:
        call()
    except RuntimeError as error:
        assert text in str(error), error
    else:
        raise SystemExit(f"expected: {text}")

torch.manual_seed(0)
query, key, value = made(5, 2, 8), made(7, 2, 8), made(7, 2, 8)
offsets = [torch.tensor(numbers, dtype=torch.int32, device="musa") for numbers in ((0, 2, 5), (0, 3, 7))]
packed = (query, key, value, *offsets, 3, 4, 0.0, False, False)

def one_by_one():
    parts = [expected(*(tensor[rows].transpose(0, 1) for tensor, rows in ((query, a), (key, b), (value, b)))).transpose(0, 1)
             for a, b in ((slice(0, 2), slice(0, 3)), (slice(2, 5), slice(3, 7)))]
    return torch.cat(parts)
"""


def run(release: str, code: str) -> None:
    fresh(f"RELEASE = {release!r}\n{START}\n{code}", MUSASIM_RELEASE=release, forked=True)


PACKED = """
output, sums, *_ = forward(*packed)
wanted = one_by_one()
torch.testing.assert_close(output, wanted, rtol=1e-4, atol=1e-4)
assert sums.shape == (2, 2, 3) and sums[0, :, 2].tolist() == [0, 0]
upstream = torch.randn_like(output)
def gradients(of):
    return torch.autograd.grad(of, (query, key, value), upstream)
if RELEASE == "2.7.1":
    refused("doesn't support packed sequences", lambda: gradients(output))
else:
    for one, other in zip(gradients(output), gradients(wanted)):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
"""


@pytest.mark.parametrize("release", RELEASES)
def test_packed_sequences_have_gradients_since_2_9_1(release: str) -> None:
    run(release, PACKED)


REFUSED = """
for name, given in (("window_size_left", -1), ("window_size_right", 0), ("alibi_slopes", torch.ones(2, device="musa"))):
    refused(f"doesn't support {name}", lambda: forward(*packed, **{name: given}))
refused("must be both set or both not set", lambda: forward(query, key, value, offsets[0], None, 3, 4, 0.0, False, False))
torch_musa.core.ops._flash_attention.get_device_capability = lambda device: (2, 2)
if RELEASE == "2.7.1":
    forward(*packed)
else:
    refused("not supported on mp22", lambda: forward(*packed))
dense = forward(made(1, 2, 3, 8), made(1, 2, 4, 8), made(1, 2, 4, 8), None, None, 3, 4, 0.0, False, False)
assert dense[0].shape == (1, 2, 3, 8) and dense[1].shape == (1, 2, 3)
"""


@pytest.mark.parametrize("release", RELEASES)
def test_windows_slopes_and_packed_sequences_on_mp_22_are_refused(release: str) -> None:
    run(release, REFUSED)
