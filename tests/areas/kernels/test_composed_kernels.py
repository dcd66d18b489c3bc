"""Operators that torch_musa lacks, or 2.7.1 does, and that are made of others on the device: CUDA's answers, and its refusals."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import torchada
from support.interpreter import Interpreter

HAS_RECIPES = hasattr(torch.nn.functional, "scaled_mm")
needs_recipes = pytest.mark.skipif(not HAS_RECIPES, reason="torch.nn.functional.scaled_mm is from torch 2.10 on")
TENSOR, ROW, SIXTEEN, THIRTY_TWO, LINE, SQUARE = range(6)
M, K, N = 256, 384, 144


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int32])
def test_dequantize_widens_an_ordinary_tensor(dtype: torch.dtype) -> None:
    found = torch.tensor([1, 2, 3], dtype=dtype, device="cuda:1").dequantize()
    assert found.dtype == torch.float32 and found.device == torch.device("cuda:1") and found.tolist() == [1, 2, 3]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("runs", [True, False])
def test_statistics_of_two_ranks_are_those_of_all_values(dtype: torch.dtype, runs: bool) -> None:
    parts = [torch.randn(4, 3, 5, generator=torch.Generator().manual_seed(seed)).mul(seed + 1) for seed in (0, 1)]
    means = torch.stack([part.mean((0, 2)) for part in parts]).cuda()
    inverses = torch.stack([(part.var((0, 2), correction=0) + 1e-3).rsqrt() for part in parts]).cuda()
    of_runs = torch.zeros(3, device="cuda"), torch.ones(3, device="cuda")
    values, given = parts[0].to("cuda", dtype), of_runs if runs else (None, None)
    mean, inverse = torch.batch_norm_gather_stats(values, means, inverses, given[0], given[1], 0.5, 1e-3, 20)
    whole = torch.cat(parts)
    torch.testing.assert_close(mean.cpu(), whole.mean((0, 2)))
    torch.testing.assert_close(inverse.cpu(), (whole.var((0, 2), correction=0) + 1e-3).rsqrt())
    if runs:
        torch.testing.assert_close(of_runs[0], mean / 2)
        torch.testing.assert_close(of_runs[1].cpu(), 0.5 + whole.var((0, 2)) / 2)


def _matrices() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(rows, K, generator=generator).to(torch.float8_e4m3fn) for rows in (M, N))
    return left, right.t()


def _scale(rows: int, recipe: int, column: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """A scale as the recipe wants it, and one for each element of a matrix of so many rows."""
    generator = torch.Generator().manual_seed(rows)
    made = torch.rand(rows, K // 128, generator=generator) + 0.5
    if recipe == TENSOR:
        return made[0, 0], made[0, 0].expand(rows, K)
    if recipe == ROW:
        return made[:, :1].t().contiguous() if column else made[:, :1].contiguous(), made[:, :1].expand(rows, K)
    if recipe == LINE:
        return made.t().contiguous().t(), made.repeat_interleave(128, 1)
    squares = made[: -(-rows // 128)]
    padded = torch.nn.functional.pad(squares, (0, 4 - K // 128), value=float("nan"))
    return padded.t(), squares.repeat_interleave(128, 0)[:rows].repeat_interleave(128, 1)


@needs_recipes
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize(
    "recipes", [(TENSOR, TENSOR), (ROW, ROW), (LINE, LINE), (SQUARE, LINE), (LINE, SQUARE)], ids=str
)
def test_products_by_recipes(recipes: tuple[int, int], has_bias: bool) -> None:
    kinds: Any = torch.nn.functional.ScalingType
    left, right = _matrices()
    (given_left, of_left), (given_right, of_right) = _scale(M, recipes[0]), _scale(N, recipes[1], column=True)
    bias = torch.linspace(-50, 50, N).bfloat16() if has_bias else None
    found = torch.nn.functional.scaled_mm(
        left.cuda(),
        right.cuda(),
        given_left.cuda(),
        list(kinds.__members__.values())[recipes[0]],
        given_right.cuda(),
        list(kinds.__members__.values())[recipes[1]],
        bias=None if bias is None else bias.cuda(),
    )
    wanted = (left.float() * of_left) @ (right.float() * of_right.t()) + (0 if bias is None else bias.float())
    assert found.dtype == torch.bfloat16 and found.is_cuda
    torch.testing.assert_close(found.cpu().float(), wanted, rtol=1e-2, atol=0.1)


def _multiplied(*recipes: int, **changes: Any) -> torch.Tensor:
    left, right = (matrix.cuda() for matrix in _matrices())
    one = torch.ones(1, device="cuda")
    given: dict[str, Any] = {"scales": (one, one), "right": right, "contraction": [], "out_dtype": None, **changes}
    first, second = given["scales"]
    return torch._scaled_mm_v2(
        given.get("left", left),
        given["right"],
        [first],
        [recipes[0]],
        [],
        [second],
        [recipes[1]],
        [],
        given.get("bias"),
        given["out_dtype"],
        given["contraction"],
        **({"out": given["out"]} if "out" in given else {}),
    )


@needs_recipes
def test_a_product_has_the_type_of_the_first_matrix_or_that_which_is_asked_for() -> None:
    assert _multiplied(TENSOR, TENSOR).dtype == torch.float8_e4m3fn
    assert _multiplied(TENSOR, TENSOR, out_dtype=torch.float32, contraction=[-1, -2]).dtype == torch.float32


@needs_recipes
@pytest.mark.parametrize("asked", [None, torch.bfloat16])
def test_a_given_matrix_says_the_type_of_the_product(asked: torch.dtype | None) -> None:
    wanted = _multiplied(TENSOR, TENSOR, out_dtype=torch.bfloat16)
    out = torch.empty(0, dtype=torch.bfloat16, device="cuda")
    assert _multiplied(TENSOR, TENSOR, out_dtype=asked, out=out) is out
    assert torch.equal(out, wanted)


def _on_the_device(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_on_the_device, value))
    return value.cuda() if isinstance(value, torch.Tensor) else value


@needs_recipes
@pytest.mark.parametrize(
    ("recipes", "changes", "words"),
    [
        ((TENSOR, ROW), {}, "Invalid scaling configuration"),
        ((SQUARE, SQUARE), {}, "Invalid scaling configuration"),
        ((ROW, ROW), {}, r"shape \(1,\) for 256 rows"),
        ((LINE, LINE), {}, r"shape \(1,\) for 256 rows"),
        ((TENSOR, TENSOR), {"scales": (torch.ones(1).half(), torch.ones(1))}, "float16"),
        ((TENSOR, TENSOR), {"contraction": [0, 1]}, r"must be \(-1, -2\)"),
        ((TENSOR, TENSOR), {"right": torch.zeros(2, 2).to(torch.float8_e4m3fn)}, "256x384 and 2x2"),
        (
            (TENSOR, TENSOR),
            {"out_dtype": torch.float16, "out": torch.empty(0, dtype=torch.bfloat16)},
            "must match output",
        ),
        ((LINE, LINE), {"left": torch.zeros(M, K)}, "Expected mat_a to be Float8 matrix got torch.float32"),
        (
            (LINE, LINE),
            {"right": torch.zeros(K, N, dtype=torch.int8)},
            "Expected mat_b to be Float8 matrix got torch.int8",
        ),
        ((LINE, LINE), {"bias": torch.ones(1).bfloat16()}, "Bias must be size 144 but got 1"),
    ],
)
def test_what_cuda_refuses_is_refused(recipes: tuple[int, int], changes: dict[str, Any], words: str) -> None:
    there = {name: _on_the_device(value) for name, value in changes.items()}
    with pytest.raises(ValueError, match=words):
        _multiplied(*recipes, **there)


@needs_recipes
@pytest.mark.parametrize(("recipe", "blocks"), [(SIXTEEN, "1x16"), (THIRTY_TWO, "1x32")])
def test_blocks_of_blackwells_are_refused_with_a_way_out(recipe: int, blocks: str) -> None:
    with pytest.raises(torchada.UnsupportedError, match=f"blocks of {blocks} .*Blackwell; scale .* by torch.mm"):
        _multiplied(recipe, recipe)


@pytest.mark.full
@pytest.mark.parametrize("release", ["2.7.1", "2.9.1"])
def test_a_kernel_of_the_backend_is_kept(musa: Interpreter, release: str) -> None:
    code = """
    import json, torch
    from torchada.redirect.engine import ENGINE
    (records,) = [found for area, found in ENGINE.applied().items() if str(area).endswith("composed_kernels")]
    print(json.dumps([record.patch.name for record in records]))
    """
    recipes = {"_scaled_mm_v2", "_scaled_mm_v2.out"} if HAS_RECIPES else set()
    lacking = {"dequantize.self", "batch_norm_gather_stats"} if release == "2.7.1" else set()
    assert set(musa.json(code, env={"MUSASIM_RELEASE": release})) == recipes | lacking | {"packed weights"}
