"""What stands in for a kernel: autocast converts nothing of what that is made of, as nothing inside of CUDA's kernels."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from support.interpreter import Interpreter


def _flash_attention() -> torch.Tensor:
    """What the forward and the backward pass give, in one vector."""
    numbers = torch.Generator().manual_seed(0)
    query, key, value, gradient = (torch.randn(64, 2, 16, generator=numbers).mul(3).half().cuda() for _ in range(4))
    offsets = torch.tensor([0, 30, 64], dtype=torch.int32, device="cuda")
    lengths = offsets, offsets, 34, 34, 0.0, False
    attention = torch.ops.aten._flash_attention_forward, torch.ops.aten._flash_attention_backward
    output, sums, *state, _ = attention[0](query, key, value, *lengths, False)
    gradients = attention[1](gradient, query, key, value, output, sums, *lengths, *state)
    return torch.cat([made.flatten().float() for made in (output, sums, *gradients)])


def _gradient_of_interpolation() -> torch.Tensor:
    gradient = torch.linspace(-1, 1, 169, device="cuda").view(1, 1, 13, 13)
    made: torch.Tensor = torch.ops.aten.upsample_bilinear2d_backward(
        gradient, [13, 13], [1, 1, 8, 8], False, None, None
    )
    return made


def _scaled_product() -> torch.Tensor:
    kinds = getattr(F, "ScalingType", None)
    if kinds is None:
        pytest.skip("scaled_mm exists from torch 2.10 on")
    # Sums of a million, which halves do not hold.
    left, right = (torch.full((128, 256), 16.0, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    lines, squares = (torch.full(shape, 4.0, device="cuda") for shape in ((128, 2), (4, 1)))
    recipes = kinds.BlockWise1x128, kinds.BlockWise128x128
    product: torch.Tensor = F.scaled_mm(
        left, right.t(), lines, recipes[0], squares, recipes[1], output_dtype=torch.bfloat16
    )
    return product


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("compute", [_flash_attention, _gradient_of_interpolation, _scaled_product])
def test_autocast_changes_nothing(compute: Callable[[], torch.Tensor], dtype: torch.dtype) -> None:
    wanted, square = compute(), torch.ones(2, 2, device="cuda")
    assert wanted.isfinite().all()
    with torch.autocast("cuda", dtype=dtype):
        found = compute()
        assert (square @ square).dtype == dtype
    assert found.dtype == wanted.dtype and torch.equal(found, wanted)


OUT_DTYPE = """
import torch
a = torch.full((4, 4), 300.0, device="cuda").half()
for name, tensors in {"mm": [a, a], "bmm": [a[None], a[None]], "addmm": [a.float(), a, a]}.items():
    product = getattr(torch, name)
    wanted = product(*tensors, out_dtype=torch.float32)
    with torch.autocast("cuda"):
        found = product(*tensors, out_dtype=torch.float32)
        out = torch.empty_like(wanted)
        product(*tensors, out_dtype=torch.float32, out=out)
    assert wanted.isfinite().all() and found.dtype == torch.float32, (name, found.dtype)
    assert torch.equal(found, wanted) and torch.equal(out, wanted), name
"""


@pytest.mark.skipif(not hasattr(torch.ops.aten.mm, "dtype"), reason="out_dtype exists from torch 2.8 on")
@pytest.mark.parametrize("release", ["2.7.1", "2.11.0"])
def test_out_dtype_is_the_type_of_the_product(musa: Interpreter, release: str) -> None:
    musa.run(OUT_DTYPE, env={"MUSASIM_RELEASE": release}, forked=True)
