"""Floating-point numbers become integers in kernels as on an NVIDIA H100, also those that no integer can hold."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from support.device_code import Kernels, compile_kernels

pytestmark = pytest.mark.once

VALUES = [math.nan, math.inf, -math.inf, 1e30, -1e30, -1.5, 3e9, 2.5, -3e9, 300, -200, 70000, 1e19, -1.0]
SPELLINGS = ["in brackets", "static_cast", "parameter of a template in brackets", "static_cast to a parameter"]
DTYPES = {"float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16}
INTRINSICS = ["int32", "uint32", "int64", "uint64"]


def measured() -> dict[tuple[str, str], list[int]]:
    """What casts in CUDA C++ gave, in the order of VALUES, by the two types: `float int8 0 -1 ...`."""
    lines = (Path(__file__).parent / "device" / "conversions_on_h100.txt").read_text(encoding="utf-8").splitlines()
    return {(line.split()[0], line.split()[1]): list(map(int, line.split()[2:])) for line in lines}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return Kernels(compile_kernels("conversions.mu", tmp_path_factory.mktemp("conversions")))


def results(kernels: Kernels, entry: str, dtype: torch.dtype) -> list[list[int]]:
    """The four results of each value, as four rows."""
    result = torch.empty(len(VALUES), 4, dtype=torch.int64)
    kernels.run(f"map_{entry}", torch.tensor(VALUES, dtype=torch.float64).to(dtype), result, len(VALUES))
    return result.T.tolist()


@pytest.mark.parametrize("real", DTYPES)
def test_a_cast_gives_what_a_gpu_gives(kernels: Kernels, real: str) -> None:
    expected = {integer: row for (of, integer), row in measured().items() if of == real}
    assert len(expected) == 8
    for integer, row in expected.items():
        given = dict(zip(SPELLINGS, results(kernels, f"{real}_{integer}", DTYPES[real]), strict=True))
        assert given == dict.fromkeys(SPELLINGS, row), integer


@pytest.mark.parametrize("real", ["float", "double"])
def test_intrinsics_give_what_casts_give(kernels: Kernels, real: str) -> None:
    expected = [measured()[real, integer] for integer in INTRINSICS]
    assert results(kernels, f"{real}_rz", DTYPES[real]) == expected
    for row, integer in zip(expected, INTRINSICS, strict=True):
        row[VALUES.index(-1.5)] = 0 if integer.startswith("u") else -2
    assert results(kernels, f"{real}_rn", DTYPES[real]) == expected


def test_a_template_may_convert_what_is_no_number(kernels: Kernels) -> None:
    assert kernels.map("through", torch.float32, torch.tensor([0.5])).tolist() == [0.5 + 1 + 1 + 2 + 3 + 1 + 2 + 1 + 1]
    assert kernels.map("place", torch.int64, torch.tensor([0])).tolist() == [5]
