"""Complex numbers, which torch_musa 2.7.1's kernels refuse where they call muDNN: the CPU's answer, on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from support.interpreter import Interpreter
from torchada.areas.kernels._gates.operators import OF_COMPLEX

X = torch.complex(torch.linspace(-1, 1, 12), torch.linspace(2, -0.5, 12)).reshape(3, 4)
Y = X.flip(0).conj_physical() + 0.25
FLAGS = torch.arange(12).reshape(3, 4) % 3 == 0
ROWS = torch.tensor([2, 0, 2])

FUNCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    **{
        name: getattr(torch, name)
        for name in ("acos", "atan", "cos", "exp", "log", "log10", "log2", "reciprocal", "rsqrt", "sigmoid", "sin")
    },
    **{name: getattr(torch, name) for name in ("sqrt", "tan", "tanh")},
    "silu": F.silu,
    "square": lambda x: x**2,
    "power of a number": lambda x: 2**x,
    "sum": lambda x: x.sum(),
    "sum of columns": lambda x: x.sum(-1, keepdim=True),
    "sum of nothing": lambda x: x[:0].sum(0),
    "sum of a number": lambda x: x[0, 0].sum(),
    "mean": lambda x: x.mean(),
    "mean of rows": lambda x: x.mean((0, -1)),
    "product": lambda x: x.prod(1),
    "cumulative sum": lambda x: x.cumsum(-1),
    "cumulative product": lambda x: x.cumprod(0),
    "linear": lambda x: F.linear(x, x[:2] * 1j, x[0, :2]),
    "sum of products": lambda x: torch.addmm(x[:, :3], x, x.t(), beta=2, alpha=1j),
    "vector": lambda x: x @ x[0],
    "product of vectors": lambda x: x[0].dot(x[1]),
    "sum and product": lambda x: torch.addcmul(x, x, x + 1, value=0.5),
    "where": lambda x: torch.where(FLAGS.to(x.device), x, 0.5),
    "where of two": lambda x: torch.where(FLAGS.to(x.device), x[:1], x * 1j),
    "index": lambda x: x[ROWS.to(x.device), :2],
    "mask": lambda x: x[FLAGS.to(x.device)],
    "rows": lambda x: x.index_select(0, ROWS.to(x.device)),
    "chosen": lambda x: x.masked_select(FLAGS.to(x.device)),
    "gathered": lambda x: x.gather(0, ROWS.expand(4, 3).t().contiguous().to(x.device)),
    "scattered": lambda x: torch.zeros_like(x).scatter(0, ROWS.expand(4, 3).t().to(x.device), x[:1].expand(3, 4)),
    "added to rows": lambda x: x.index_add(0, ROWS.to(x.device), x, alpha=2),
    "masked": lambda x: x.masked_scatter(FLAGS.to(x.device), x.flatten()[:8]),
    "of a number, gathered": lambda x: x[0, 0].gather(-1, torch.tensor(0, device=x.device)),
    "of a number, scattered": lambda x: x[0, 0].scatter(0, torch.tensor([0], device=x.device), x[1, :1]),
    "of a number, added up": lambda x: x[0, 0].scatter_add(0, torch.tensor(0, device=x.device), x[1, 1]),
    "of a number, rows": lambda x: x[0, 0].index_select(0, torch.tensor([0], device=x.device)),
    "of a number, cumulative": lambda x: x[0, 0].cumsum(0),
    "norm": lambda x: torch.linalg.vector_norm(x),
    "variance": lambda x: x.var(),
}


OF_A_NUMBER: dict[str, Callable[..., torch.Tensor]] = {
    "ne": torch.ne,
    "ne of a number": lambda x, z: torch.ne(z, x),
    "ne in place": lambda x, z: x.clone().ne_(z),
    "ne into": lambda x, z: torch.ne(x, z, out=torch.empty(0, dtype=torch.bool, device=x.device)),
    "eq in place": lambda x, z: x.clone().eq_(z),
    "pow": torch.pow,
    "pow of a number": lambda x, z: torch.pow(z, x),
    "pow in place": lambda x, z: x.to(torch.complex64, copy=True).pow_(z),
    "pow into": lambda x, z: torch.pow(x, z, out=torch.empty(0, dtype=torch.complex128, device=x.device)),
    "where": lambda x, z: torch.where(x.abs() > 0.5, x, z),
}


@pytest.mark.filterwarnings("ignore:Casting complex values to real:UserWarning")  # of ne_, on the CPU as well
@pytest.mark.parametrize("number", [torch.tensor(1 + 2j), torch.tensor(2 - 0.5j, dtype=torch.complex128)])
@pytest.mark.parametrize("name", OF_A_NUMBER)
def test_a_complex_number_of_the_host_beside_a_tensor(name: str, number: torch.Tensor) -> None:
    function = OF_A_NUMBER[name]
    for x in (torch.linspace(0.1, 2, 6), torch.arange(6), torch.linspace(0.1, 2, 6).double(), X.flatten()):
        for _ in range(2):  # the second call may know that the kernel refuses it
            found, wanted = function(x.cuda(), number), function(x, number)
            assert found.is_cuda and found.dtype == wanted.dtype
            torch.testing.assert_close(found.cpu(), wanted)
        plain = x.cuda() ** 2, x.cuda() != 2  # what has no such number goes on as before
        assert torch.equal(plain[1].cpu(), x != 2)
        torch.testing.assert_close(plain[0].cpu(), x**2)


@pytest.mark.parametrize("function", [torch.ne, torch.pow, torch.logical_or])
def test_a_complex_tensor_of_the_host_is_refused(function: Callable[..., torch.Tensor]) -> None:
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        function(torch.ones(2, device="cuda"), torch.tensor([1 + 2j, 1j]))


def gradient(function: Callable[..., torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    x = x.clone().requires_grad_()
    function(x).abs().pow(2).sum().backward()
    assert x.grad is not None
    return x.grad


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_their_gradients(name: str, dtype: torch.dtype) -> None:
    function, x = FUNCTIONS[name], X.to(dtype)
    found, wanted = function(x.cuda()), function(x)
    assert found.is_cuda and found.dtype == wanted.dtype
    torch.testing.assert_close(found.cpu(), wanted)
    if name not in ("sum of nothing", "silu"):  # PyTorch has no gradient of the second
        torch.testing.assert_close(gradient(function, x.cuda()).cpu(), gradient(function, x))


def test_powers_of_tensors(musa: Interpreter) -> None:
    """In a process of its own: with gates in Python, Inductor fails to compile jagged attention after this gradient."""
    code = """
    import torch
    results = []
    for device in ("cpu", "cuda"):
        x = torch.tensor([1 + 2j, -0.5 + 0.25j], device=device, requires_grad=True)
        y = x ** x
        y.abs().sum().backward()
        results.append((y.detach().cpu(), x.grad.cpu()))
    torch.testing.assert_close(results[1], results[0])
    """
    musa.run(code, forked=True)


COMPARISONS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "equal": lambda x, y: x == y,
    "other": lambda x, y: x != y,
    "equal to a number": lambda x, y: x == 1j,
    "other than a number": lambda x, y: x != 0,
    "a real one and a number": lambda x, y: x.real == 1j,
    "not": lambda x, y: torch.logical_not(x),
    "and": torch.logical_and,
    "or with booleans": lambda x, y: torch.logical_or(x, y.real > 0),
    "xor": torch.logical_xor,
    "any": lambda x, y: x.any(),
    "all": lambda x, y: x.all(1),
    "nan": lambda x, y: x.isnan(),
    "finite": lambda x, y: x.isfinite(),
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str) -> None:
    x = torch.tensor([[0, 1j, float("nan")], [1j, 2, 3 - 1j]])
    y = torch.tensor([1j, 1j, 0])
    assert torch.equal(COMPARISONS[name](x.cuda(), y.cuda()).cpu(), COMPARISONS[name](x, y))


def test_what_is_written_in_place_and_into_given_tensors() -> None:
    x, out = X.cuda(), torch.empty(0, dtype=torch.complex64, device="cuda")
    assert torch.exp(x, out=out) is out
    torch.testing.assert_close(out.cpu(), X.exp())
    assert torch.sum(x, 0, out=out.resize_(0)) is out
    torch.testing.assert_close(out.cpu(), X.sum(0))
    assert x.tanh_() is x
    torch.testing.assert_close(x.cpu(), X.tanh())
    x[ROWS.cuda(), 1] = 5 - 1j
    x[FLAGS.cuda()] += 1
    x.scatter_add_(1, ROWS.expand(3, 3).cuda(), x.clone())
    wanted = X.tanh()
    wanted[ROWS, 1] = 5 - 1j
    wanted[FLAGS] += 1
    wanted.scatter_add_(1, ROWS.expand(3, 3), wanted.clone())
    torch.testing.assert_close(x.cpu(), wanted)
    x.index_put_((ROWS.cuda(),), x[:1].clone(), accumulate=True)
    wanted.index_put_((ROWS,), wanted[:1].clone(), accumulate=True)
    torch.testing.assert_close(x.cpu(), wanted)


def test_a_layer_of_complex_numbers_is_trained() -> None:
    torch.manual_seed(0)
    layer = torch.nn.Linear(4, 2, dtype=torch.complex64)
    gradients = []
    for device in ("cpu", "cuda"):
        layer = layer.to(device)
        layer.zero_grad()
        (layer(X.to(device)) - 1).abs().square().mean().backward()
        gradients.append(
            [parameter.grad.cpu().clone() for parameter in layer.parameters() if parameter.grad is not None]
        )
    torch.testing.assert_close(gradients[1], gradients[0])


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_halves() -> None:
    x = X.to(torch.complex32)
    for function in (torch.exp, lambda x: x.sum(1), lambda x: x[ROWS.to(x.device)]):
        found = function(x.cuda())
        assert found.dtype == torch.complex32
        torch.testing.assert_close(
            found.cpu().to(torch.complex64), function(x.to(torch.complex64)), rtol=1e-2, atol=1e-2
        )


def test_what_cuda_refuses_too_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"shape|size|Unsupported tensor dtype"):
        torch.addmm(X.cuda(), X.cuda(), X.cuda())
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.where(FLAGS.cuda(), X.cuda(), X)


WRONG: dict[str, Callable[[torch.Tensor], object]] = {
    "matrices for dot": lambda x: x.dot(x),
    "lengths": lambda x: x[0].dot(x[0, :1]),
    "types": lambda x: x[0].dot(x[0].to(torch.complex128)),
    "into real numbers": lambda x: torch.zeros(3, 4, device=x.device).addcmul_(x, x),
    "product into real numbers": lambda x: torch.zeros(3, 3, device=x.device).addmm_(x, x.t()),
    "real values": lambda x: x.clone().index_put_((ROWS.to(x.device),), torch.ones(3, 4, device=x.device)),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_what_does_not_fit_is_an_error_as_on_the_cpu(name: str, device: str) -> None:
    with pytest.raises((RuntimeError, IndexError)):
        WRONG[name](X.to(device))


def test_a_number_of_the_cpu_is_raised_to_powers() -> None:
    found = torch.pow(torch.tensor(2j), X.cuda())
    assert found.is_cuda
    torch.testing.assert_close(found.cpu(), torch.pow(torch.tensor(2j), X))


@pytest.mark.parametrize("compare", [torch.ne, torch.eq])
@pytest.mark.parametrize("number", [torch.tensor(1j), torch.tensor(2.0), torch.tensor(True)])
def test_a_number_of_the_cpu_is_compared(compare: Any, number: torch.Tensor) -> None:
    x = torch.tensor([0, 1j, 2, 1])
    assert compare(x.cuda(), number).is_cuda and torch.equal(compare(x.cuda(), number).cpu(), compare(x, number))
    assert compare(number, x.cuda()).is_cuda and torch.equal(compare(number, x.cuda()).cpu(), compare(number, x))


@pytest.mark.parametrize("function", [torch.logical_and, torch.logical_or, torch.logical_xor])
def test_a_number_of_the_cpu_has_no_truth_beside_the_device_on_cuda_neither(function: Any) -> None:
    """PyTorch makes the result where the first one is; and CUDA's kernels of complex numbers take no number of the CPU."""
    number = torch.tensor(1j)
    for first, second in ((number, X.cuda()), (torch.tensor(True), X.real.cuda()), (X.cuda(), number)):
        with pytest.raises(RuntimeError):
            function(first, second)


@pytest.mark.parametrize("shape", [(), (2, 3)])
@pytest.mark.parametrize("name", ["sum", "mean", "cumsum", "index_select", "scatter_add"])
def test_a_dimension_that_is_not_there_is_an_error(name: str, shape: tuple[int, ...]) -> None:
    x, index = torch.zeros(shape, dtype=torch.complex64, device="cuda"), torch.zeros(shape, dtype=torch.int64)
    more = {"index_select": (index.reshape(-1).cuda(),), "scatter_add": (index.cuda(), x)}.get(name, ())
    with pytest.raises(
        IndexError, match=r"Dimension out of range \(expected to be in range of \[-[12], [01]\], but got 2\)"
    ):
        getattr(x, name)(2, *more)


def test_every_operator_of_the_list_is_one_of_pytorchs() -> None:
    lacking = [name for name in OF_COMPLEX if not torch._C._dispatch_has_kernel(f"aten::{name}")]
    assert lacking == []
