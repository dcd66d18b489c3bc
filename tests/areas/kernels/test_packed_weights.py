"""Weights of four bits: packed as CUDA packs them, and multiplied as CUDA multiplies them, whatever the backend has."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from support.interpreter import Interpreter

PACK: Any = torch.ops.aten._convert_weight_to_int4pack
MULTIPLY: Any = torch.ops.aten._weight_int4pack_mm


def _bytes(rows: int, columns: int) -> torch.Tensor:
    return torch.randint(0, 256, (rows, columns // 2), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def _word(weight: torch.Tensor, tiles: int, place: tuple[int, int, int, int]) -> int:
    """One word as each thread of CUDA's kernel makes it (matrix_to_m16n8k16_Bint4_layout), of Python's numbers."""
    row, outer, lane, pair = place
    first = (outer * tiles + pair * 2) * 8 + lane % 4
    taken = (
        [weight[row * 8 + lane // 4, first + offset].item() for offset in (0, 4, 8, 12)]
        if row * 8 + lane // 4 < len(weight)
        else [0] * 4
    )
    digits = [byte >> 4 for byte in taken] + [byte & 15 for byte in taken]
    word = sum(digit << 4 * place for place, digit in enumerate(digits))
    return word - (1 << 32) if word >> 31 else word


@pytest.mark.parametrize("tiles", [2, 4, 8])
@pytest.mark.parametrize("rows", [8, 13])
def test_each_word_has_what_cuda_s_kernel_puts_there(rows: int, tiles: int) -> None:
    weight = _bytes(rows, 256)
    packed = PACK(weight.cuda(), tiles)
    assert packed.shape == (-(-rows // 8), 256 // tiles // 16, 32, tiles // 2)
    assert packed.dtype == torch.int32 and packed.is_cuda and packed.is_contiguous()
    wanted = [_word(weight, tiles, place) for place in torch.cartesian_prod(*map(torch.arange, packed.shape)).tolist()]
    assert packed.flatten().tolist() == wanted


@pytest.mark.parametrize("tiles", [2, 4, 8])
@pytest.mark.parametrize("group", [32, 64, 128, 256])
def test_a_product_has_the_weight_s_own_numbers(group: int, tiles: int) -> None:
    weight, generator = _bytes(16, 256), torch.Generator().manual_seed(1)
    given = torch.randn(5, 256, generator=generator).bfloat16()
    pairs = torch.randn(256 // group, 16, 2, generator=generator).bfloat16()
    found = MULTIPLY(given.cuda(), PACK(weight.cuda(), tiles), group, pairs.cuda())
    assert found.shape == (5, 16) and found.dtype == torch.bfloat16 and found.is_cuda
    numbers = torch.stack([weight >> 4, weight & 15], -1).flatten(1).float() - 8
    scales, zeros = (part.repeat_interleave(group, 0).t().float() for part in pairs.unbind(-1))
    wanted = given.float() @ (numbers * scales + zeros).bfloat16().float().t()
    torch.testing.assert_close(found.cpu().float(), wanted, rtol=1e-2, atol=0.2)


def _matrices(**changes: Any) -> list[Any]:
    weight = PACK(_bytes(8, 64).cuda(), 2)
    given = {
        "given": torch.ones(3, 64, dtype=torch.bfloat16, device="cuda"),
        "weight": weight,
        "group": 32,
        "pairs": torch.ones(2, 8, 2, dtype=torch.bfloat16, device="cuda"),
    }
    return list((given | changes).values())


@pytest.mark.parametrize(
    "changes",
    [
        {"given": torch.ones(3, 64)},
        {"given": torch.ones(3, 32).bfloat16()},
        {"given": torch.ones(64, 3).bfloat16().t()},
        {"weight": torch.ones(1, 2, 32, 1)},
        {"weight": torch.ones(1, 2, 16, 2, dtype=torch.int32)},
        {"weight": torch.ones(1, 2, 32, 3, dtype=torch.int32)},
        {"group": 16},
        {"group": 128},
        {"pairs": torch.ones(2, 7, 2).bfloat16()},
        {"pairs": torch.ones(2, 8).bfloat16()},
    ],
    ids=str,
)
def test_what_cuda_refuses_is_refused(changes: dict[str, Any]) -> None:
    there = {name: value.cuda() if isinstance(value, torch.Tensor) else value for name, value in changes.items()}
    with pytest.raises(RuntimeError, match=r"Expected .* to be true, but got false"):
        MULTIPLY(*_matrices(**there))


@pytest.mark.parametrize(
    ("weight", "tiles"),
    [
        (torch.ones(8, dtype=torch.uint8), 2),
        (torch.ones(8, 16), 2),
        (torch.ones(16, 8, dtype=torch.uint8).t(), 2),
        (torch.ones(8, 16, dtype=torch.uint8), 3),
        (torch.ones(8, 24, dtype=torch.uint8), 2),
        (torch.ones(8, 0, dtype=torch.uint8), 2),
    ],
)
def test_weights_that_cuda_does_not_pack_are_refused(weight: torch.Tensor, tiles: int) -> None:
    with pytest.raises(RuntimeError, match="Expected"):
        PACK(weight.cuda(), tiles)


def test_compiled_code_packs_and_multiplies() -> None:
    weight, pairs = _bytes(8, 64).cuda(), torch.ones(2, 8, 2, dtype=torch.bfloat16, device="cuda")
    given = torch.ones(3, 64, dtype=torch.bfloat16, device="cuda")
    packed = PACK(weight, 2)
    compiled: Any = torch.compile(lambda x: MULTIPLY(x, packed, 32, pairs) + 1, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(given), MULTIPLY(given, packed, 32, pairs) + 1)


CODE = """
import json, torch
pack, multiply = torch.ops.aten._convert_weight_to_int4pack, torch.ops.aten._weight_int4pack_mm
weight = torch.full((8, 16), 0x91, dtype=torch.uint8, device="cuda")
pairs = torch.tensor([2.0, 1.0], device="cuda").bfloat16().repeat(1, 8, 1)
found = multiply(torch.eye(32, device="cuda").bfloat16(), pack(weight, 2), 32, pairs)
from torchada.redirect.replaced import COUNTS
print(json.dumps([found[:2, 0].tolist(), {name.removeprefix("aten::"): count for name, count in COUNTS.items() if "int4" in name}]))
"""


@pytest.mark.full
@pytest.mark.parametrize("release", ["2.7.1", "2.9.1", "2.11.0"])
def test_a_kernel_that_is_right_is_kept(musa: Interpreter, release: str) -> None:
    numbers, counts = musa.json(CODE, env={"MUSASIM_RELEASE": release})
    assert numbers == [3.0, -13.0]
    packs = {"_convert_weight_to_int4pack": 1} if release == "2.7.1" else {}
    assert counts == packs | {"_weight_int4pack_mm": 1}
