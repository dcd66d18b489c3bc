"""Nested tensors of the strided layout: torch_musa 2.7.1 has five operators for them, and CUDA those of the CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from musasim.base import release

CALLS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "mul": lambda x: x * 2 + x - x / 3,
    "gelu": F.gelu,
    "silu": F.silu,
    "linear": lambda x: F.linear(x, torch.arange(12.0, device=x.device).reshape(2, 6), torch.ones(2, device=x.device)),
    "layer_norm": lambda x: F.layer_norm(
        x, (6,), torch.arange(6.0, device=x.device), torch.ones(6, device=x.device), eps=0.1
    ),
    "softmax": lambda x: x.softmax(-1),
    "matmul": lambda x: x @ x.transpose(1, 2),
    "sum": lambda x: x.sum(-1, keepdim=True),
    "unsqueeze": lambda x: x.unsqueeze(1).squeeze(1),
    "select": lambda x: x[0].unsqueeze(0),
    "clone": lambda x: x.clone().mul_(2),
    "contiguous": lambda x: x.transpose(1, 2).contiguous(),
    "dropout": lambda x: F.dropout(x, 0.0),
    "attention": lambda x: F.scaled_dot_product_attention(*(x.unsqueeze(1),) * 3).squeeze(1),
    "relu": lambda x: x.relu().neg(),
    "layers": lambda x: F.layer_norm(F.relu(x) * 3, (6,), *torch.ones(2, 6, device=x.device)),
}


def outcome(call: Callable[[torch.Tensor], torch.Tensor], device: str) -> list[torch.Tensor]:
    """The values, and the gradients of the parts."""
    torch.manual_seed(0)
    parts = [torch.randn(rows, 6).to(device).requires_grad_() for rows in (2, 4, 3)]
    made = call(torch.nested.as_nested_tensor(parts))
    assert made.is_cuda == (device == "cuda")
    values = torch.nested.to_padded_tensor(made, 0.0) if made.is_nested else made
    values.square().sum().backward()
    return [values.detach().cpu(), *(part.grad.cpu() for part in parts if part.grad is not None)]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_what_is_computed_and_its_gradients(name: str) -> None:
    torch.testing.assert_close(outcome(CALLS[name], "cuda"), outcome(CALLS[name], "cpu"), rtol=1e-4, atol=1e-4)


def test_numbers_keep_their_digits_beside_double_precision() -> None:
    parts = [torch.tensor([1 / 3, 3.0], dtype=torch.float64), torch.ones(1, dtype=torch.float64)]
    nested = torch.nested.nested_tensor(parts, device="cuda")
    for function in (lambda x: x * 0.1, lambda x: x - 0.1, lambda x: x / 0.3):
        for found, part in zip(function(nested).unbind(), parts, strict=True):
            assert torch.equal(found.cpu(), function(part))
    assert (nested.half() * 0.1).dtype == torch.float16


def test_parts_of_a_nested_tensor() -> None:
    parts = [torch.randn(rows, 6) for rows in (2, 4, 3)]
    nested = torch.nested.nested_tensor(parts, device="cuda")
    for found, expected in ((nested.narrow(0, 1, 2), parts[1:]), (nested.chunk(2, -1)[1], [x[:, 3:] for x in parts])):
        for mine, other in zip(found.unbind(), expected, strict=True):
            torch.testing.assert_close(mine.cpu(), other)


WITH_DENSE: dict[str, tuple[tuple[int, ...], Callable[[torch.Tensor, torch.Tensor], torch.Tensor]]] = {
    "add": ((3, 1, 6), torch.add),
    "add, twice": ((3, 1, 6), lambda x, y: torch.add(x, y, alpha=2)),
    "mul": ((3, 1, 6), torch.mul),
    "mul, two dimensions": ((3, 1), torch.mul),
    "sub, of channels": ((5, 1, 1), torch.sub),
    "div, of channels": ((5, 1, 1), torch.div),
}


@pytest.mark.parametrize("name", WITH_DENSE)
def test_operations_with_an_ordinary_tensor(name: str) -> None:
    """PyTorch has them for CUDA alone."""
    shape, call = WITH_DENSE[name]
    sizes = {(3, 1, 6): [(2, 6), (4, 6), (0, 6)], (3, 1): [(2,), (4,), (3,)], (5, 1, 1): [(5, 2, 3), (5, 4, 1)]}
    parts, dense = [torch.randn(each) for each in sizes[shape]], torch.rand(shape) + 1
    nested = torch.nested.nested_tensor(parts, device="cuda")
    found = call(nested, dense.cuda())
    rows = [dense] * len(parts) if "channels" in name else dense
    for mine, part, row in zip(found.unbind(), parts, rows, strict=True):
        assert mine.is_cuda
        torch.testing.assert_close(mine.cpu(), call(part, row))


@pytest.mark.parametrize("shape", [(2, 1, 6), (3, 1, 5), (3, 2, 6), (6,)], ids=str)
def test_other_ordinary_tensors_are_refused(shape: tuple[int, ...]) -> None:
    nested = torch.nested.nested_tensor([torch.ones(rows, 6) for rows in (2, 4, 3)], device="cuda")
    with pytest.raises(RuntimeError, match="got a nested self and non-nested other for op: add"):
        nested + torch.ones(shape, device="cuda")


@pytest.mark.parametrize(
    ("shape", "words"), [((4, 6, 6), "irregular dimensions"), ((5,), "The shape at dimension 0")], ids=["long", "wrong"]
)
def test_shapes_of_layer_norm(shape: tuple[int, ...], words: str) -> None:
    nested = torch.nested.nested_tensor([torch.randn(2, 6), torch.randn(3, 6)], device="cuda")
    with pytest.raises(RuntimeError, match=words):
        F.layer_norm(nested, shape, *torch.ones(2, *shape, device="cuda"))
    if release.chosen() < (2, 9, 1):  # newer ones have a kernel, which does without
        with pytest.raises(ValueError, match="requires weight and bias"):
            F.layer_norm(nested, (6,))


def test_what_cuda_lacks_is_refused() -> None:
    nested = torch.nested.nested_tensor([torch.randn(2, 6)], device="cuda")
    with pytest.raises(NotImplementedError, match=r"aten::sort.*nested tensors of the strided layout"):
        nested.sort()
