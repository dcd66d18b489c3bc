"""Nested tensors of the strided layout: torch_musa 2.7.1 has five operators for them, and CUDA those of the CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

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


def test_parts_of_a_nested_tensor() -> None:
    parts = [torch.randn(rows, 6) for rows in (2, 4, 3)]
    nested = torch.nested.nested_tensor(parts, device="cuda")
    for found, expected in ((nested.narrow(0, 1, 2), parts[1:]), (nested.chunk(2, -1)[1], [x[:, 3:] for x in parts])):
        for mine, other in zip(found.unbind(), expected, strict=True):
            torch.testing.assert_close(mine.cpu(), other)


@pytest.mark.parametrize(
    ("shape", "words"), [((4, 6, 6), "irregular dimensions"), ((5,), "The shape at dimension 0")], ids=["long", "wrong"]
)
def test_shapes_of_layer_norm(shape: tuple[int, ...], words: str) -> None:
    nested = torch.nested.nested_tensor([torch.randn(2, 6), torch.randn(3, 6)], device="cuda")
    with pytest.raises(RuntimeError, match=words):
        F.layer_norm(nested, shape, *torch.ones(2, *shape, device="cuda"))
    with pytest.raises(ValueError, match="requires weight and bias"):
        F.layer_norm(nested, (6,))


def test_what_cuda_lacks_is_refused() -> None:
    nested = torch.nested.nested_tensor([torch.randn(2, 6)], device="cuda")
    with pytest.raises(NotImplementedError, match=r"aten::sort.*nested tensors of the strided layout"):
        nested.sort()
