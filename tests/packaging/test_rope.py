"""torchada.apply_rope_inplace against complex numbers: a rotation by an angle is a product with a number of length one."""

from __future__ import annotations

import pytest
import torch

import torchada

pytestmark = pytest.mark.musa


def rotated(x: torch.Tensor, angles: torch.Tensor, positions: torch.Tensor, is_neox: bool) -> torch.Tensor:
    """`x`, on the CPU in float64, rotated by the angles of its tokens' positions."""
    half = angles.size(-1)
    pairs = x.double()[..., : 2 * half]
    pairs = torch.stack(pairs.chunk(2, -1), -1) if is_neox else pairs.unflatten(-1, (half, 2))
    turned = torch.view_as_real(
        torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angles), angles)[positions.long(), None]
    )
    flat = torch.cat(turned.unbind(-1), -1) if is_neox else turned.flatten(-2)
    return torch.cat([flat, x.double()[..., 2 * half :]], -1)


@pytest.mark.parametrize("is_neox", [True, False])
@pytest.mark.parametrize("rope_dim", [16, 24])
@pytest.mark.parametrize(("dtype", "other"), [(torch.float32, torch.float32), (torch.float16, torch.bfloat16)])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_it_rotates(is_neox: bool, rope_dim: int, dtype: torch.dtype, other: torch.dtype, index: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(5, 3, 24, generator=generator).to(dtype)
    key = torch.randn(5, 1, 24, generator=generator).to(other)
    angles = torch.rand(9, rope_dim // 2, generator=generator, dtype=torch.float64) * 6
    cache = torch.cat([angles.cos(), angles.sin()], -1).float()
    positions = torch.tensor([8, 0, 3, 3, 1], dtype=index)
    mine = [each.cuda() for each in (query, key)]
    pointers = [each.data_ptr() for each in mine]
    torchada.apply_rope_inplace(*mine, cache.cuda(), positions.cuda(), is_neox=is_neox, rope_dim=rope_dim)
    for result, x in zip(mine, (query, key), strict=True):
        expected = rotated(x, angles, positions, is_neox)
        eps = torch.finfo(x.dtype).eps
        torch.testing.assert_close(result.cpu().double(), expected, rtol=2 * eps, atol=4 * eps)
    assert [each.data_ptr() for each in mine] == pointers


def test_a_graph_rotates_by_what_its_inputs_are_at_replay() -> None:
    query, key = torch.ones(2, 1, 4, device="cuda"), torch.ones(2, 1, 4, device="cuda")
    angles = torch.arange(3.0, device="cuda")[:, None].expand(3, 2)
    cache, positions = torch.cat([angles.cos(), angles.sin()], -1), torch.zeros(2, dtype=torch.int64, device="cuda")
    torchada.apply_rope_inplace(query, key, cache, positions, is_neox=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torchada.apply_rope_inplace(query, key, cache, positions, is_neox=True)
    query.fill_(1)
    positions.copy_(torch.tensor([0, 2]))
    graph.replay()
    two = torch.tensor(2.0)
    turned = [float(two.cos() - two.sin())] * 2 + [float(two.cos() + two.sin())] * 2
    assert query[0].flatten().tolist() == [1.0] * 4
    torch.testing.assert_close(query[1].flatten().cpu(), torch.tensor(turned))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": torch.ones(2, 1, 4)}, "requires MUSA tensors, and query is on cpu"),
        (
            {"key": torch.ones(2, 1, 4, device="cuda").half()},
            r"same element size, and have torch\.float32 and torch\.float16",
        ),
        ({"key": torch.ones(2, 1, 8, device="cuda")[..., :4]}, "matching head strides, and have 4 and 8"),
        (
            {"positions": torch.zeros(3, dtype=torch.int64, device="cuda")},
            r"one value per token, and has the shape \[3\]",
        ),
        ({"cos_sin_cache": torch.ones(2, 6, device="cuda")}, "must have 6 values"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, torch.Tensor], message: str) -> None:
    arguments = {
        "query": torch.ones(2, 1, 4, device="cuda"),
        "key": torch.ones(2, 1, 4, device="cuda"),
        "cos_sin_cache": torch.ones(2, 4, device="cuda"),
        "positions": torch.zeros(2, dtype=torch.int64, device="cuda"),
    }
    with pytest.raises(RuntimeError, match=message):
        torchada.apply_rope_inplace(**{**arguments, **change}, is_neox=True)
