"""`out=` of another size than the result, which torch_musa 2.7.1 does not resize: CUDA resizes it, and warns if it has elements."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

from support.interpreter import Interpreter
from torchada.areas.kernels._gates.operators import INTO_SIZES

A, B = torch.linspace(-1, 1, 6).reshape(2, 3), torch.linspace(2, -1, 12).reshape(3, 4)
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], torch.dtype]] = {
    **{
        f"{name} of two": (getattr(torch, name), (A, A[:1]), torch.bool)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    },
    **{
        f"{name} of a number": (getattr(torch, name), (A, 0.2), torch.bool)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    },
    **{
        name: (getattr(torch, name), (A > 0, A < 0), torch.bool)
        for name in ("logical_and", "logical_or", "logical_xor")
    },
    **{
        name: (getattr(torch, name), (A.abs(), A[1]), torch.float32)
        for name in ("maximum", "minimum", "remainder", "pow")
    },
    "mm": (torch.mm, (A, B), torch.float32),
    "mm in double precision": (torch.mm, (A.double(), B.double()), torch.float64),
    "mm of slices": (torch.mm, (A.double(), B.double()[:, ::2]), torch.float64),
    "bmm": (torch.bmm, (A[None], B[None]), torch.float32),
    "addmm": (torch.addmm, (B[0], A, B), torch.float32),
    "addmv": (torch.addmv, (A[:, 0], A, B[:, 0]), torch.float32),
    "mv": (torch.mv, (A, B[:, 0]), torch.float32),
    "baddbmm": (torch.baddbmm, (B[:1][None], A[None], B[None]), torch.float32),
    "mean of rows": (lambda x, out: torch.mean(x, (-1,), keepdim=True, out=out), (A,), torch.float32),
    "product of columns": (lambda x, out: torch.prod(x, 0, out=out), (A,), torch.float32),
    "any": (lambda x, out: torch.any(x, 1, out=out), (A > 0,), torch.bool),
    "any of all": (lambda x, out: torch.any(x, out=out), (A > 0,), torch.bool),
    "all": (lambda x, out: torch.all(x, -2, keepdim=True, out=out), (A > 0,), torch.bool),
}


def there(values: tuple[Any, ...]) -> list[Any]:
    return [value.cuda() if isinstance(value, torch.Tensor) else value for value in values]


@pytest.mark.parametrize("case", CASES)
def test_it_is_resized_with_a_warning_if_it_has_elements(case: str) -> None:
    function, arguments, dtype = CASES[case]
    wanted = function(*arguments, out=torch.empty(0, dtype=dtype))
    empty, full = torch.empty(0, dtype=dtype, device="cuda"), torch.empty(7, dtype=dtype, device="cuda")
    assert function(*there(arguments), out=empty) is empty
    assert torch.equal(empty.cpu(), wanted)
    with pytest.warns(UserWarning, match="An output with one or more elements was resized since it had shape"):
        function(*there(arguments), out=full)
    assert torch.equal(full.cpu(), wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(*there(arguments), out=full.zero_())
    assert torch.equal(full.cpu(), wanted)


@pytest.mark.parametrize("name", ["max", "min"])
def test_largest_and_smallest_with_their_places(name: str) -> None:
    wanted = getattr(torch, name)(A, 1, keepdim=True)
    outs = torch.empty(0, device="cuda"), torch.empty(0, dtype=torch.int64, device="cuda")
    getattr(torch, name)(A.cuda(), 1, keepdim=True, out=outs)
    assert torch.equal(outs[0].cpu(), wanted.values) and torch.equal(outs[1].cpu(), wanted.indices)


def test_what_does_not_fit_together_is_refused_in_pytorchs_words() -> None:
    out = torch.empty(0, device="cuda")
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        torch.maximum(A.cuda(), B.cuda(), out=out)
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied|must be a matrix|size mismatch"):
        torch.mm(A.cuda(), A.cuda(), out=out)
    assert out.shape == (0,)


def test_every_operator_of_the_list_is_one_of_pytorchs() -> None:
    names = [name for names in INTO_SIZES.values() for name in names]
    assert [name for name in names if not torch._C._dispatch_has_kernel(f"aten::{name}")] == []


NOT_IMPORTED = """
import sys, torch
out = torch.empty(0, device="cuda")
for function, arguments in ((torch.maximum, (2, 2)), (torch.mm, ((2, 2), (2, 2)))):
    function(*(torch.ones(shape, device="cuda") for shape in arguments), out=out.resize_(0))
torch.mean(torch.ones(2, 2, device="cuda"), 1, out=out.resize_(0))
assert out.tolist() == [1, 1]
print([name for name in ("torch._dynamo", "sympy") if name in sys.modules])
"""


@pytest.mark.parametrize("in_cpp", ["0", "1"])
def test_the_compiler_is_not_imported_for_it(musa: Interpreter, in_cpp: str) -> None:
    """A backward pass does this in a thread of its own, and Inductor does not work after being imported there."""
    assert musa.json(NOT_IMPORTED, env={"TORCHADA_CPP_GATES": in_cpp}) == []
