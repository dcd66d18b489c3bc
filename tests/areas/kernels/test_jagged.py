"""Attention of jagged nested tensors, which CUDA has kernels for."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

LENGTHS = [2, 0, 4, 3]
OFFSETS = torch.tensor([0, *LENGTHS]).cumsum(0)
TOTAL, HEADS, SIZE = sum(LENGTHS), 4, 8


def packed(x: torch.Tensor, weight: torch.Tensor, **options: object) -> torch.Tensor:
    """The attention of PyTorch's tutorial on nested tensors: one projection, cut into query, key and value."""
    nested = torch.nested.nested_tensor_from_jagged(x, OFFSETS.to(x.device))
    parts = torch.chunk(F.linear(nested, weight), 3, -1)
    query, key, value = (part.unflatten(-1, [HEADS, SIZE]).transpose(1, 2) for part in parts)
    attention = F.scaled_dot_product_attention(query, key, value, **options)  # type: ignore[arg-type]
    return attention.transpose(1, 2).flatten(-2) + nested


def each_alone(x: torch.Tensor, weight: torch.Tensor, **options: object) -> torch.Tensor:
    done = []
    for part in x.split(LENGTHS):
        heads = (each.unflatten(-1, [HEADS, SIZE]).transpose(0, 1) for each in F.linear(part, weight).chunk(3, -1))
        done.append(F.scaled_dot_product_attention(*heads, **options).transpose(0, 1).flatten(-2) + part)  # type: ignore[arg-type]
    return torch.cat(done)


def inputs(device: str) -> list[torch.Tensor]:
    torch.manual_seed(0)
    made = torch.randn(TOTAL, HEADS * SIZE), torch.randn(3 * HEADS * SIZE, HEADS * SIZE)
    return [each.to(device).requires_grad_() for each in made]


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.25}], ids=str)
def test_what_is_computed_and_its_gradients(options: dict[str, object]) -> None:
    here, there = inputs("cuda"), inputs("cpu")
    found, expected = packed(*here, **options), each_alone(*there, **options)
    torch.testing.assert_close(found.values().cpu(), expected, rtol=1e-4, atol=1e-4)
    assert found.is_cuda and found.is_nested
    found.values().square().sum().backward()
    expected.square().sum().backward()
    for mine, other in zip(here, there):
        assert mine.grad is not None and other.grad is not None
        torch.testing.assert_close(mine.grad.cpu(), other.grad, rtol=1e-3, atol=1e-2)


def test_compiled() -> None:
    with torch.no_grad():
        found = torch.compile(packed, backend="eager")(*inputs("cuda"))
    torch.testing.assert_close(found.values().cpu(), each_alone(*inputs("cpu")), rtol=1e-4, atol=1e-4)


def test_under_autocast() -> None:
    with torch.autocast("cuda", torch.bfloat16):
        x = torch.nested.nested_tensor([torch.randn(3, 16), torch.randn(5, 16)], layout=torch.jagged, device="cuda")
        heads = x.unflatten(-1, [2, 8]).transpose(1, 2)
        assert F.scaled_dot_product_attention(heads, heads, heads).dtype == torch.bfloat16


def test_sequences_with_gaps_between_them() -> None:
    values = torch.randn(10, HEADS, SIZE)
    nested = torch.nested.nested_tensor_from_jagged(
        values.cuda(), torch.tensor([0, 4, 10], device="cuda"), torch.tensor([2, 5], device="cuda")
    )
    heads = nested.transpose(1, 2)
    found = F.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).unbind()
    for mine, part in zip(found, (values[:2], values[4:9]), strict=True):
        dense = part.transpose(0, 1)
        expected = F.scaled_dot_product_attention(dense, dense, dense).transpose(0, 1)
        torch.testing.assert_close(mine.cpu(), expected, rtol=1e-4, atol=1e-4)


def test_masks_are_refused_as_on_cuda() -> None:
    nested = torch.nested.nested_tensor([torch.randn(3, 2, 8)], layout=torch.jagged, device="cuda").transpose(1, 2)
    with pytest.raises(ValueError, match="Masks are not yet supported"):
        F.scaled_dot_product_attention(nested, nested, nested, attn_mask=torch.ones(3, 3, device="cuda"))
