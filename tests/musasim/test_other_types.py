"""Data types that torch_musa's kernels take, because they are CUDA's, and the CPU's do not: what an NVIDIA H100 gave.

Of random numbers the types alone.
"""

from __future__ import annotations

import json

import pytest

from support.fresh_process import run

pytestmark = pytest.mark.once

FOUND = {
    "of(eye.half().trace())": ["torch.float16", 3.0],
    "of(eye.bfloat16().trace())": ["torch.bfloat16", 3.0],
    "of(eye.bool().trace())": ["torch.int64", 3],
    "of(flags.median())": ["torch.bool", True],
    "of(flags.nanmedian())": ["torch.bool", True],
    "of(flags.median(0).values)": ["torch.bool", True],
    "of(flags.nanmedian(0).values)": ["torch.bool", True],
    "of(into(flags))": ["torch.bool", True],
    "str(turned.nansum().item())": "(4+2j)",
    # PyTorch compares it with itself, and muDNN refuses complex numbers there.
    "refused(lambda: turned.nanmean())": "SetMUTensorDType Unsupported tensor dtype: ComplexFloat",
    "str(torch.nansum(turned, 0, out=torch.zeros(0, dtype=turned.dtype, device='musa')).item())": "(4+2j)",
    "losses(torch.float16)": [True, True, True, True],
    "losses(torch.bfloat16)": [True, True, True, True],
    "rrelu(torch.float16)": ["torch.float16", "torch.float16", True],
    "rrelu(torch.bfloat16)": ["torch.bfloat16", "torch.bfloat16", True],
    "drawn(torch.float16)": ["torch.float16"] * 3,
    "drawn(torch.bfloat16)": ["torch.bfloat16"] * 3,
    "[*F.adaptive_avg_pool3d(torch.zeros(0, 8, 5, 7, 4, dtype=torch.int32, device='musa'), (5, 7, 4)).shape]": [
        0,
        8,
        5,
        7,
        4,
    ],
    # In single precision, and rounded once, where the CPU computes in halves.
    "sampled(torch.float16)": True,
    "sampled(torch.bfloat16)": True,
    "of(torch.tril_indices(0, 3, dtype=torch.float32, device='musa'))": ["torch.float32", [[], []]],
    "of(torch.triu_indices(1, 2, dtype=torch.int32, device='musa'))": ["torch.int32", [[0, 0], [0, 1]]],
    "refused(lambda: torch.tril_indices(2, 2, dtype=torch.float32, device='musa'))": (
        "\"tril_indices_cuda\" not implemented for 'Float'"
    ),
    "refused(lambda: F.adaptive_avg_pool3d(whole.view(1, 1, 1, 1, 5), (1, 1, 2)))": (
        "\"adaptive_avg_pool3d_cpu\" not implemented for 'Long'"
    ),
}
QUOTIENTS = {
    "(whole // 0).tolist()": [4294967295, -2, 4294967295, 4294967295, -2],
    "(whole % 0).tolist()": [4294967295, -1, 4294967295, 4294967295, -1],
    "torch.div(whole, 0, rounding_mode='trunc').tolist()": [4294967295, -1, 4294967295, 4294967295, -1],
    "(5 % torch.tensor([0, 3], device='musa')).tolist()": [4294967295, 2],
    "(5 % torch.tensor([0, 3], dtype=torch.int32, device='musa')).tolist()": [-1, 2],
    "(5 % torch.tensor([0, 3], dtype=torch.int16, device='musa')).tolist()": [-1, 2],
    "(5 % torch.tensor([0, 3], dtype=torch.int8, device='musa')).tolist()": [-1, 2],
    "(whole / 0).tolist()[:2]": [float("inf"), -float("inf")],
    "(whole // 3).tolist()": [1, -2, 0, 2, -3],
    # Not read off a GPU; no kernel of one raises an error, and in place and into a tensor the values are the same.
    "torch.fmod(whole, 0).tolist()": [4294967295, -1, 4294967295, 4294967295, -1],
    "whole.clone().floor_divide_(0).tolist()": [4294967295, -2, 4294967295, 4294967295, -2],
    "torch.remainder(whole, whole * 0, out=torch.zeros_like(whole)).tolist()": [
        4294967295,
        -1,
        4294967295,
        4294967295,
        -1,
    ],
    "(whole.byte() // torch.tensor([0, 1, 2, 0, 3], dtype=torch.uint8, device='musa')).tolist()": [
        255,
        251,
        0,
        255,
        83,
    ],
}
PROGRAM = """
import json
import musasim
musasim.install()
import torch, torch_musa, torch.nn.functional as F
eye, flags = torch.eye(3, device="musa"), torch.tensor([True, False, True], device="musa")
turned = torch.tensor([1 + 2j, complex(float("nan"), 1), 3], device="musa")
whole = torch.tensor([5, -5, 0, 7, -7], device="musa")
def of(tensor):
    return str(tensor.dtype), tensor.tolist()
def into(flags):
    values, indices = torch.empty(0, dtype=torch.bool, device="musa"), torch.empty(0, dtype=torch.int64, device="musa")
    found = torch.median(flags, 0, out=(values, indices))
    assert found.values is values and flags[indices] == values
    return values
def losses(dtype):
    x, labels = torch.linspace(-1, 1, 9, device="musa").reshape(3, 3).to(dtype), torch.tensor([0, 2, 1], device="musa")
    found = []
    for loss, target in ((F.multi_margin_loss, labels), (F.multilabel_margin_loss, torch.stack([labels, labels, -1 - 0 * labels]))):
        halves, wide = x.clone().requires_grad_(), x.float().requires_grad_()
        of_halves, wanted = loss(halves, target), loss(wide, target)
        of_halves.backward()
        wanted.backward()
        found += [torch.equal(of_halves, wanted.to(dtype)), torch.equal(halves.grad, wide.grad.to(dtype))]
    return found
def rrelu(dtype):
    x = torch.full((64,), -1.0, dtype=dtype, device="musa", requires_grad=True)
    y = F.rrelu(x, training=True)
    y.sum().backward()
    return str(y.dtype), str(x.grad.dtype), bool((y < 0).all()) and torch.equal(-y, x.grad) and len(y.unique()) > 16
def drawn(dtype):
    x = torch.full((3,), 0.5, dtype=dtype, device="musa")
    return [str(numbers.dtype) for numbers in (torch._standard_gamma(x), torch.binomial(8 * x, x), torch._sample_dirichlet(x))]
def sampled(dtype):
    image = torch.linspace(-1, 1, 64, device="musa").reshape(1, 1, 8, 8).to(dtype)
    places = torch.linspace(-0.9, 0.8, 32, device="musa").reshape(1, 4, 4, 2).to(dtype)
    wide = F.grid_sample(image.float(), places.float(), align_corners=False)
    return torch.equal(F.grid_sample(image, places, align_corners=False), wide.to(dtype))
def refused(call):
    try:
        return str(call())
    except RuntimeError as error:
        return str(error)
print(json.dumps({call: eval(call) for call in CALLS}))
"""


@pytest.mark.parametrize("release", ["2.7.1", "2.11.0"])
def test_types(release: str) -> None:
    code = f"CALLS = {[*FOUND]}\n{PROGRAM}"
    assert json.loads(run(code, MUSASIM_RELEASE=release)) == FOUND


def test_whole_numbers_divided_by_zero() -> None:
    assert json.loads(run(f"CALLS = {[*QUOTIENTS]}\n{PROGRAM}", forked=True)) == QUOTIENTS


def test_a_graph_divides_by_what_is_zero_later() -> None:
    code = """
    import musasim
    musasim.install()
    import torch, torch_musa
    a, b, graph = torch.full((1,), 7, device="musa"), torch.full((1,), 2, device="musa"), torch.musa.MUSAGraph()
    with torch.musa.graph(graph):
        c = a // b
    graph.replay()
    print(c.item())
    b.zero_()
    graph.replay()
    print(c.item())
    """
    assert run(code, forked=True) == "3\n4294967295\n"
