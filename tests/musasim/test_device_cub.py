"""CUB in kernels and on the whole device, compared with torch."""

from __future__ import annotations

import pytest
import torch

from support.device_code import BY_NVCC, Kernels, compile_kernels

pytestmark = pytest.mark.once

BLOCK, ITEMS = 80, 3
TILE = BLOCK * ITEMS


@pytest.fixture(scope="module")
def cub(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return Kernels(compile_kernels("cub.mu", tmp_path_factory.mktemp("cub")))


def test_a_block_scan_keeps_the_order_and_carries_its_prefix(cub: Kernels) -> None:
    generator = torch.Generator().manual_seed(1)
    functions = torch.rand(2 * TILE, 2, generator=generator) + 0.25
    result = torch.zeros_like(functions)
    cub.run("run_block_affine_scan", functions, result)
    a, b = 1.0, 0.0
    expected = []
    for factor, summand in functions.double().tolist():
        a, b = factor * a, factor * b + summand
        expected.append((a, b))
    torch.testing.assert_close(result.double(), torch.tensor(expected, dtype=torch.double), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("valid", [TILE, 200])
def test_block_functions_agree_with_torch(cub: Kernels, valid: int) -> None:
    generator = torch.Generator().manual_seed(2)
    given = torch.randint(-50, 50, (TILE,), generator=generator, dtype=torch.int32)
    result = torch.zeros(10, TILE, dtype=torch.int32)
    cub.run("run_block_functions", given, result, valid)
    items = torch.where(torch.arange(TILE) < valid, given, -1)
    firsts, seconds = items[::ITEMS], items[1::ITEMS]
    assert result[0, :5].tolist() == [items.sum(), firsts.max(), firsts[:37].sum(), items.sum(), firsts.sum()]
    assert torch.equal(result[1], (items.cumsum(0) - items).int())
    assert torch.equal(result[2], items.cummax(0).values)
    assert torch.equal(result[3, :BLOCK], (1000 + firsts.cumsum(0) - firsts).int())
    assert torch.equal(result[3, BLOCK : 2 * BLOCK], seconds.cumsum(0).int())
    assert torch.equal(result[4], items)
    assert torch.equal(result[5], items)
    keys, places = items.sort(stable=True)
    assert torch.equal(result[6], keys)
    assert torch.equal(result[7], places.int())
    assert torch.equal(result[8], items.sort(stable=True, descending=True).indices.int())
    assert result[9, :3].tolist() == [each.sum() for each in firsts.split(32)]
    eights = firsts.view(-1, 8)
    assert torch.equal(result[9, BLOCK : 2 * BLOCK], eights.cumsum(1).int().view(-1))
    assert torch.equal(result[9, 2 * BLOCK :], eights.sum(1, keepdim=True).expand(-1, 8).int().reshape(-1))


@pytest.mark.parametrize("n", [1, 1000])
def test_device_reductions_and_scans_agree_with_torch(cub: Kernels, n: int) -> None:
    generator = torch.Generator().manual_seed(3)
    floats = torch.randint(-100, 100, (n,), generator=generator).float()
    result = torch.zeros(5)
    cub.run("device_reductions", floats, result, n)
    place = int(result[3:4].view(torch.int32))
    assert result[:3].tolist() == [floats.sum(), floats.max(), floats.min()]
    assert (place, result[4]) == (floats.tolist().index(float(floats.max())), floats.max())
    integers = floats.int()
    rows = torch.zeros(3, n, dtype=torch.int32)
    cub.run("device_scans", integers, rows, n)
    assert torch.equal(rows[0], integers.cumsum(0).int())
    before = torch.cat([torch.tensor([-7], dtype=torch.int32), integers])[:-1]
    assert torch.equal(rows[1], before.cummax(0).values)
    squares = torch.arange(n) ** 2
    assert torch.equal(rows[2], (squares.cumsum(0) - squares).int())


@pytest.mark.parametrize("descending", [False, True])
def test_radix_sorts_are_stable_for_every_type(cub: Kernels, descending: bool) -> None:
    generator = torch.Generator().manual_seed(4)
    n = 2000
    floats = torch.randn(n, generator=generator).mul(3).round() / 2
    floats[::7], floats[1::7] = 0.0, -0.0
    floats[5], floats[9] = torch.inf, -torch.inf
    longs = torch.randint(-(2**62), 2**62, (n,), generator=generator)
    longs[::3] = longs[1]
    for entry, keys in (("sort_float", floats), ("sort_half", floats.half()), ("sort_long", longs)):
        sorted_keys, places = keys.clone(), torch.arange(n, dtype=torch.int32)
        cub.run(entry, sorted_keys, places, n, int(descending), 0, keys.element_size() * 8)
        expected = keys.sort(stable=True, descending=descending)
        assert torch.equal(sorted_keys, expected.values), entry
        assert torch.equal(places, expected.indices.int()), entry
    # Only bits 4 to 11 are compared.
    sorted_keys, places = longs.clone(), torch.arange(n, dtype=torch.int32)
    cub.run("sort_long", sorted_keys, places, n, int(descending), 4, 12)
    assert torch.equal(places, (longs >> 4 & 0xFF).sort(stable=True, descending=descending).indices.int())


def test_segments_are_reduced_and_sorted_separately(cub: Kernels) -> None:
    values = torch.tensor([3.0, -1, 2, 8, 7, 7, 5, 0.5])
    offsets = torch.tensor([0, 3, 3, 7, 8], dtype=torch.int32)
    sums, ordered = torch.zeros(8), values.clone()
    cub.run("segments", values, offsets, sums, ordered, 8, 4)
    assert sums.tolist() == [4, 0, 27, 0.5, -1, 99, 5, 0.5]
    assert ordered.tolist() == [-1, 2, 3, 5, 7, 7, 8, 0.5]


def test_selections_and_run_lengths_keep_the_order(cub: Kernels) -> None:
    values = torch.tensor([1, 1, 2, 5, 5, 5, 4, 1, 9], dtype=torch.int32)
    rows, counts = torch.zeros(4, 9, dtype=torch.int32), torch.zeros(3, dtype=torch.int32)
    cub.run("selections", values, rows, counts, 9)
    assert counts.tolist() == [7, 6, 6]
    assert rows[0, :7].tolist() == [1, 1, 5, 5, 5, 1, 9]
    assert rows[1, :6].tolist() == rows[2, :6].tolist() == [1, 2, 5, 4, 1, 9]
    assert rows[3, :6].tolist() == [2, 1, 3, 1, 1, 1]


def test_device_algorithms_follow_their_stream(cub: Kernels) -> None:
    values = torch.ones(5000, dtype=torch.int32)
    cub.run("ordered_by_stream", values, 5000)
    assert torch.equal(values, torch.arange(1, 5001, dtype=torch.int32))


@pytest.fixture(scope="module", params=[(), ("-DCUB_WRAPPED_NAMESPACE=wrapped",)], ids=["prefix", "wrapped"])
def wrapped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    """CUB in the namespace `wrapped`, by either of the two ways to put it there."""
    if BY_NVCC:
        pytest.skip("CUDA 13 puts CUB and Thrust into a namespace together, by another macro")
    return Kernels(compile_kernels("cub_wrapped.mu", tmp_path_factory.mktemp("wrapped"), "-O1", *request.param))


def test_in_another_namespace_it_does_not_meet_ones_own(wrapped: Kernels) -> None:
    keys = torch.tensor([4, 4, 1, 7, 7, 7, 4], dtype=torch.int32)
    values = torch.arange(7, dtype=torch.int32) + 10
    out, count = torch.zeros(2, 7, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    wrapped.run("unique_by_key", keys, values, out, count, 7)
    assert count.item() == 4
    assert out[0, :4].tolist() == [4, 1, 7, 4]
    assert out[1, :4].tolist() == [10, 12, 13, 16]


def test_a_scan_begins_with_a_value_that_is_written_later(wrapped: Kernels) -> None:
    given, result = torch.arange(1, 6, dtype=torch.int32), torch.zeros(5, dtype=torch.int32)
    wrapped.run("scan_from_a_future_value", given, result, 40, 5)
    assert result.tolist() == [40, 41, 43, 46, 50]


def test_thrust_does_not_need_it_where_it_was(wrapped: Kernels) -> None:
    result = torch.zeros(1, dtype=torch.int32)
    wrapped.run("thrust_beside_it", result, 10)
    assert result.item() == 190
