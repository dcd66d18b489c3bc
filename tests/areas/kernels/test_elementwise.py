"""Operators on elements that torch_musa 2.7.1 computes otherwise than CUDA: the CPU's results, on the device."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from support.interpreter import Interpreter

X = torch.linspace(-3, 3, 13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "function",
    [F.selu, lambda x: F.celu(x, 2.0), F.elu, lambda x: F.elu(x, 0.5)],
    ids=["selu", "celu", "elu", "elu 0.5"],
)
def test_activations(function: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype) -> None:
    def run(device: str) -> list[torch.Tensor]:
        x = X.to(device, dtype, copy=True).requires_grad_()
        y = function(x)
        y.sum().backward()
        assert x.grad is not None and y.dtype == dtype
        return [y.detach().cpu(), x.grad.cpu()]

    for found, wanted in zip(run("cuda:1"), run("cpu")):
        torch.testing.assert_close(found, wanted)


def test_activations_in_place_and_into_a_given_tensor() -> None:
    x = X.cuda()
    view = x.view(13)
    F.selu_(x)
    torch.testing.assert_close(view.cpu(), F.selu(X))
    out = torch.empty(0, device="cuda")
    assert torch.ops.aten.elu.out(X.cuda(), 1.5, 2.0, 0.5, out=out) is out
    torch.testing.assert_close(out.cpu(), torch.ops.aten.elu(X, 1.5, 2.0, 0.5))


INTEGERS, EXPONENTS = torch.tensor([3, -2, 7, 10, 0]), torch.tensor([20, 5, 0, 11, 3])


def test_powers_of_integers() -> None:
    a, b, wanted = INTEGERS.cuda(), EXPONENTS.cuda(), INTEGERS**EXPONENTS
    assert torch.equal((a**b).cpu(), wanted) and torch.equal((10**b).cpu(), 10**EXPONENTS)
    assert (a.int() ** b.int()).dtype == torch.int32 and (3 ** b.int()).dtype == torch.int32
    out = torch.empty(0, dtype=torch.int64, device="cuda")
    assert torch.pow(a, b, out=out) is out and torch.equal(out.cpu(), wanted)
    whole = torch.stack([a, a])
    whole[0].pow_(b)
    assert torch.equal(whole.cpu(), torch.stack([wanted, INTEGERS]))


def test_a_number_on_the_host_beside_a_tensor() -> None:
    number, a = torch.tensor(3), EXPONENTS.cuda()
    for found, wanted in ((torch.pow(number, a), number**EXPONENTS), (torch.pow(a, number * 8), EXPONENTS**24)):
        assert found.is_cuda and torch.equal(found.cpu(), wanted)
    quotient, divisor = torch.tensor(7.0, dtype=torch.float64), torch.tensor([2.0, -2.0], dtype=torch.float64)
    for divide in (torch.floor_divide, lambda a, b: torch.div(a, b, rounding_mode="trunc")):
        for pair in ((quotient, divisor), (divisor * 5, quotient)):
            found = divide(*(operand.cuda() if operand.dim() else operand for operand in pair))
            assert found.is_cuda and torch.equal(found.cpu(), divide(*pair))


def test_powers_of_integers_into_a_floating_tensor() -> None:
    out = torch.full((5,), 7.0, device="cuda")
    assert torch.pow(INTEGERS.cuda(), EXPONENTS.cuda(), out=out) is out
    assert torch.equal(out.cpu(), (INTEGERS**EXPONENTS).float())


@pytest.mark.parametrize("others", ["cpu", "cuda:1"])
def test_operands_of_two_devices_are_refused(others: str) -> None:
    a = EXPONENTS.cuda()
    refused: tuple[Callable[[], object], ...] = (
        lambda: torch.pow(a, EXPONENTS.to(others)),
        lambda: torch.pow(EXPONENTS.to(others), a),
        lambda: torch.pow(a, a, out=torch.empty_like(a, device=others)),
        lambda: torch.floor_divide(a.double(), EXPONENTS.to(others)),
        lambda: torch.div(EXPONENTS.double().to(others), a, rounding_mode="trunc"),
        lambda: torch.floor_divide(a.double(), a, out=torch.empty_like(a.double(), device=others)),
    )
    for compute in refused:
        with pytest.raises(RuntimeError, match=r"same device|on device|must be on"):
            compute()


def test_activations_of_integers_are_refused() -> None:
    with pytest.raises(RuntimeError, match="not implemented for 'Long'"):
        F.selu(INTEGERS.cuda())


def test_other_powers_are_the_backends() -> None:
    x = X.abs().cuda()
    torch.testing.assert_close((x**x).cpu(), X.abs() ** X.abs())
    torch.testing.assert_close((EXPONENTS.cuda() ** x[:5]).cpu(), EXPONENTS ** X[:5].abs())
    torch.testing.assert_close((2.5**x).cpu(), 2.5 ** X.abs())


DIVISIONS = """
import torch
x = torch.linspace(-21, 21, 13, dtype=torch.float64)
integers, whole = torch.tensor([3, -2, 7, 10, 0]), torch.tensor([3.0, -4, 5] * 4 + [7])
agree = lambda found, wanted: torch.testing.assert_close(found.cpu(), wanted)
for divisor in (2, -2.5, torch.tensor(2.0), whole):
    there = divisor.cuda() if isinstance(divisor, torch.Tensor) else divisor
    agree(x.cuda() // there, x // divisor)
    for mode in ("floor", "trunc", None):
        wanted = torch.div(x, divisor, rounding_mode=mode)
        agree(torch.div(x.cuda(), there, rounding_mode=mode), wanted)
        rows = torch.stack([x, x]).cuda()
        rows[1].div_(there, rounding_mode=mode)
        agree(rows, torch.stack([x, wanted]))
        if isinstance(there, torch.Tensor):
            out = torch.empty(0, dtype=torch.float64, device="cuda")
            assert torch.div(x.cuda(), there, rounding_mode=mode, out=out) is out
            agree(out, wanted)
there = x.cuda()
there //= 2
agree(there, x // 2)
agree(7.5 // there, 7.5 // (x // 2))
agree(integers.cuda() // torch.tensor(2.5, dtype=torch.float64, device="cuda"), integers // torch.tensor(2.5, dtype=torch.float64))
agree(integers.cuda() // 2, integers // 2)
agree(x.float().cuda() // 0.7, x.float() // 0.7)
assert (integers.int().cuda()[0] // 2).dtype == torch.int32 and (integers.cuda() // 2.0).dtype == torch.float32
"""


@pytest.mark.full
def test_divisions_in_double_precision(musa: Interpreter) -> None:
    musa.run(DIVISIONS, forked=True)


FUNCTIONS = """
import torch
from torchada.areas.kernels import elementwise
from torchada.redirect.engine import ENGINE
x = torch.tensor([1, 2, 3])
for name in elementwise._OF_REALS:
    function, exponent = getattr(torch, name.partition(".")[0]), [0.5] if "." in name else []
    for given in (x, x.int(), x.bool()):
        torch.testing.assert_close(function(given.cuda(), *exponent).cpu(), function(given, *exponent), equal_nan=True)
assert torch.equal((x.cuda() ** 2).cpu(), x**2)
# The simulator's kernels are right, so what takes their place is asked by itself.
(records,) = [found for area, found in ENGINE.applied().items() if str(area).endswith("kernels.elementwise")]
mended = {record.patch.name: record.patch.replacement for record in records}
for name in elementwise._OF_REALS:
    function, exponent = getattr(torch, name.partition(".")[0]), [0.5] if "." in name else []
    kernel = mended[name]
    assert kernel.concerns(x.cuda(), *exponent) and not kernel.concerns(x.cuda().float(), *exponent)
    assert not kernel._probe(lambda x, *exponent: function(x.float(), *exponent).long(), "cuda")
    torch.testing.assert_close(kernel._replacement(x.cuda(), *exponent).cpu(), function(x, *exponent), equal_nan=True)
"""


@pytest.mark.full
def test_functions_of_integers(musa: Interpreter) -> None:
    musa.run(FUNCTIONS, forked=True)
