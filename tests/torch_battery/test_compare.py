"""What counts as the CPU's answer: the comparison of the battery, on the CPU alone."""

from __future__ import annotations

import math

import pytest
import torch

from torch_battery.check import EXACT, Tolerance, Wrong
from torch_battery.compare import same
from torch_battery.inputs import Inputs, strided

pytestmark = pytest.mark.once

NAN, INF = math.nan, math.inf


def tensor(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (tensor(1, NAN, INF, -INF), tensor(1, NAN, INF, -INF)),
        (tensor(), tensor()),
        (tensor(1, 2, dtype=torch.int64), tensor(1, 2, dtype=torch.int64)),
        (torch.tensor([True]), torch.tensor([True])),
        (torch.tensor(1 + 2j), torch.tensor(1 + 2j)),
        ((tensor(1), [tensor(2)]), [tensor(1), (tensor(2),)]),
    ],
)
def test_equal_values_are_the_same(found: object, expected: object) -> None:
    assert same(found, expected) == 0


@pytest.mark.parametrize(
    ("found", "expected", "message"),
    [
        (tensor(1, 2), tensor(1, 3), r"is 2 at \[1\] where the CPU has 3; 1 of 2 not equal within"),
        (tensor(NAN), tensor(1), "is nan"),
        (tensor(1), tensor(NAN), "where the CPU has nan"),
        (tensor(INF), tensor(-INF), "is inf"),
        (tensor(1), tensor(INF), "where the CPU has inf"),
        (tensor(1, 2), tensor(1), r"has the shape \(2,\), not \(1,\)"),
        (tensor(3, dtype=torch.int64), tensor(4, dtype=torch.int64), "not equal exactly"),
        (torch.tensor([True]), torch.tensor([False]), "not equal exactly"),
        ((tensor(1),), (tensor(1), tensor(2)), "has not 2 parts"),
        ((tensor(1), tensor(5)), (tensor(1), tensor(2)), "part 1 of the result"),
    ],
)
def test_other_values_are_named(found: object, expected: object, message: str) -> None:
    with pytest.raises(Wrong, match=message):
        same(found, expected)


def test_the_error_is_told_as_a_share_of_what_is_allowed() -> None:
    assert same(tensor(1.5), tensor(1.0), Tolerance(0, 1)) == pytest.approx(0.5)
    assert same(tensor(3.0), tensor(2.0), Tolerance(1, 0)) == pytest.approx(0.5)
    with pytest.raises(Wrong):
        same(tensor(1 + 1e-6), tensor(1.0), EXACT)


def test_low_precision_is_allowed_its_own_rounding_and_no_more() -> None:
    x = torch.linspace(0.1, 10, 500, dtype=torch.float64)
    for dtype in (torch.float16, torch.bfloat16):
        assert same(x.to(dtype), x) < 1
        with pytest.raises(Wrong):
            same(x.to(dtype) * 1.05, x)


def test_inputs_are_the_same_each_time_and_differ_by_name() -> None:
    first, again, other = (Inputs(torch.float32, name)(5) for name in ("a", "a", "b"))
    assert torch.equal(first, again) and not torch.equal(first, other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8])
def test_distinct_numbers_are_distinct(dtype: torch.dtype) -> None:
    assert Inputs(dtype, "distinct").distinct(128).unique().numel() == 128


def test_strided_inputs_have_the_same_values_in_other_places() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    assert torch.equal(strided(x), x) and not strided(x).is_contiguous()
    assert torch.equal(strided(x[0]), x[0]) and not strided(x[0]).is_contiguous()
