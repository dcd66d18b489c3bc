"""A row of a table of operators, and the checks that are made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from torch_battery.check import EXACT, TOLERANCES, Check, Level, expect
from torch_battery.compare import leaves, name_of, on_device, same
from torch_battery.inputs import Inputs, moved, strided, wide
from torch_battery.precision import without_tf32

FLOATS = ("float32", "float16", "bfloat16")
SINGLE = ("float32",)
INTEGERS = ("int64",)
NUMBERS = (*FLOATS, *INTEGERS)
ALL = (*NUMBERS, "bool")
COMPLEX = ("complex64",)
# A table that names one of these is tried with its relatives too, in a full run.
_RELATIVES = {"float32": ("float64",), "int64": ("int32", "int16", "uint8")}


class Operator(NamedTuple):
    """`call` is computed on the device with `inputs` of each of `dtypes`, and on the CPU with the same inputs as doubles.

    `slack` is how often the tolerance of the data type is allowed. `grad`: the gradients are checked as well. `strided`: inputs
    that are not contiguous are tried too. `precise`: computed without TF32, which CUDA uses for convolutions by default.
    `relatives` is False where other data types of the same kind are not supported.
    """

    name: str
    call: Callable[..., Any]
    inputs: Callable[[Inputs], tuple[Any, ...]]
    dtypes: Sequence[str] = FLOATS
    level: Level = "standard"
    slack: float = 1
    grad: bool = True
    strided: bool = True
    precise: bool = False
    relatives: bool = True


def checks(group: str, table: Iterable[Operator]) -> Iterator[Check]:
    """A check for each row and data type, and one for the gradients of each row that has them."""
    for row in table:
        for dtype, level in _levels(row):
            tolerance = TOLERANCES.get(dtype, EXACT).times(row.slack)
            yield Check(group, row.name, level, partial(_values, group, row, dtype), dtype, tolerance)
        if row.grad and "float32" in row.dtypes:
            level = "full" if row.level == "full" else "standard"
            tolerance = TOLERANCES["float32"].times(10 * row.slack)
            yield Check("autograd", row.name, level, partial(_gradients, group, row), "float32", tolerance)


def _levels(row: Operator) -> Iterator[tuple[str, Level]]:
    """The data types of a row: a quick row is quick in the first, and standard in the others."""
    for number, dtype in enumerate(row.dtypes):
        yield dtype, "standard" if row.level == "quick" and number else row.level
    if row.relatives:
        for dtype in row.dtypes:
            yield from ((relative, "full") for relative in _RELATIVES.get(dtype, ()) if relative not in row.dtypes)


def _values(group: str, row: Operator, dtype: str) -> float:
    given = row.inputs(Inputs(getattr(torch, dtype), f"{group}.{row.name}"))
    expected = row.call(*map(wide, given))
    tolerance = TOLERANCES.get(dtype, EXACT).times(row.slack)
    with without_tf32(row.precise):
        actual = row.call(*map(moved, given))
        _kinds(actual, row, given)
        worst = same(actual, expected, tolerance)
        if row.strided:
            actual = row.call(*(strided(moved(value)) for value in given))
            worst = max(worst, same(actual, expected, tolerance, "with strided inputs the result"))
    return worst


def _kinds(actual: Any, row: Operator, given: Sequence[Any]) -> None:
    """Raise Wrong unless the results are on the device and have the types that the CPU's have."""
    on_device(actual)
    for tensor, dtype in zip(leaves(actual), _dtypes_on_the_cpu(row, given)):
        expect(tensor.dtype == dtype, f"the result has the type {name_of(tensor.dtype)}, not {name_of(dtype)}")


def _dtypes_on_the_cpu(row: Operator, given: Sequence[Any]) -> list[torch.dtype]:
    """What types the CPU's results have; none where the CPU does not support the operator in this type."""
    try:
        return [leaf.dtype for leaf in leaves(row.call(*given)) if isinstance(leaf, torch.Tensor)]
    except (RuntimeError, NotImplementedError):
        return []


def _gradients(group: str, row: Operator) -> float:
    given = row.inputs(Inputs(torch.float32, f"{group}.{row.name}"))
    with without_tf32(row.precise):
        actual = _gradients_of(row, [moved(value) for value in given])
    expected = _gradients_of(row, [wide(value) for value in given])
    on_device(actual, "a gradient")
    return same(actual, expected, TOLERANCES["float32"].times(10 * row.slack), "the gradient")


def _gradients_of(row: Operator, given: Sequence[Any]) -> list[torch.Tensor]:
    """The gradients of a weighted sum of all real results, for each real input."""
    inputs = [leaf for leaf in leaves(list(given)) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]
    for tensor in inputs:
        tensor.requires_grad_()
    results = [leaf for leaf in leaves(row.call(*given)) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    total = torch.stack([_weighted(result).double() for result in results]).sum()
    gradients = torch.autograd.grad(total, inputs, allow_unused=True)
    return [gradient for gradient in gradients if gradient is not None]


def _weighted(result: torch.Tensor) -> torch.Tensor:
    weights = torch.linspace(0.5, 1.5, result.numel(), dtype=torch.float64).reshape(result.shape)
    return (torch.view_as_real(result).sum(-1) if result.is_complex() else result).mul(weights.to(result)).sum()
