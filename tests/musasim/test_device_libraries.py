"""Thrust, muRAND and eight-bit numbers on the simulated device."""

from __future__ import annotations

import numpy
import pytest
import torch

from support.device_code import Kernels, compile_kernels

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return Kernels(compile_kernels("libraries.mu", tmp_path_factory.mktemp("libraries")))


def test_thrust_agrees_with_torch(libraries: Kernels) -> None:
    generator = torch.Generator().manual_seed(1)
    n = 500
    values = torch.randint(-40, 40, (n,), generator=generator, dtype=torch.int32)
    rows = torch.zeros(8, n)
    libraries.run("thrust_rows", values, rows, n)
    keys, order = values.sort(stable=True)
    assert torch.equal(rows[0], keys.float())
    assert torch.equal(rows[1], order.float())
    assert torch.equal(rows[2], values / 2)
    sums = values.cumsum(0)
    assert torch.equal(rows[3], sums.float())
    assert torch.equal(rows[4], (5 + sums - values).float())
    odd = values[values % 2 != 0].float()
    assert torch.equal(rows[5, : odd.numel()], odd)
    assert (rows[5, odd.numel() :] == -1).all()
    distinct, places = values.unique(return_inverse=True)
    assert torch.equal(rows[6, : distinct.numel()], distinct.float())
    by_key = torch.zeros(distinct.numel()).index_add(0, places[order], order.float())
    assert torch.equal(rows[7, : distinct.numel()], by_key)

    results = torch.zeros(10, dtype=torch.double)
    libraries.run("thrust_results", values, results, n)
    maximum, from_behind = int(values.max()), values.tolist()[::-1]
    assert results.tolist() == [
        maximum, float(values.sum()) / 2, odd.numel(), values.tolist().index(maximum), 5050, 42, 1, 2**31 - 1, 2,
        from_behind.index(from_behind[2]),
    ]  # fmt: skip


def test_functions_of_a_complex_number(libraries: Kernels) -> None:
    z = torch.tensor(0.3 - 0.7j, dtype=torch.cdouble)
    results = torch.zeros(21, 2, dtype=torch.double)
    libraries.run("thrust_complex_functions", torch.view_as_real(z), results)
    names = [
        "exp",
        "log",
        "log10",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "conj",
    ]
    want = [getattr(torch, name)(z).resolve_conj() for name in names]
    want += [z, *(each.to(torch.cdouble) for each in (z.abs(), z.angle(), z.abs() ** 2))]
    torch.testing.assert_close(torch.view_as_complex(results), torch.stack(want))


def philox(counter: int, key: int) -> list[int]:
    """One block of Philox4x32-10, from its definition."""
    words = [counter >> 32 * i & 0xFFFFFFFF for i in range(4)]
    keys = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        words = [
            second >> 32 ^ words[1] ^ keys[0],
            second & 0xFFFFFFFF,
            first >> 32 ^ words[3] ^ keys[1],
            first & 0xFFFFFFFF,
        ]
        keys = [keys[0] + 0x9E3779B9 & 0xFFFFFFFF, keys[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return words


# (counter, key, result) of Random123's test vectors.
PUBLISHED = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def words_of(tensor: torch.Tensor) -> list[int]:
    return [each & 0xFFFFFFFF for each in tensor.view(-1).tolist()]


def uniform_of(bits: list[int]) -> torch.Tensor:
    return torch.from_numpy(numpy.array(bits, dtype=numpy.float32)) * 2.0**-32 + 2.0**-33


def test_philox_gives_the_published_numbers(libraries: Kernels) -> None:
    counters, keys = (torch.tensor([row[i] for row in PUBLISHED]).to(torch.uint32).view(torch.int32) for i in range(2))
    result = torch.zeros(3, 4, dtype=torch.int32)
    libraries.run("map_philox_block", counters, keys, torch.zeros(3, dtype=torch.int32), result, 3)
    assert words_of(result) == [word for row in PUBLISHED for word in row[2]]
    # The seed is the key, the subsequence is the counter's upper half, and the offset is the number of skipped words.
    seed, threads, n = 0x123456789ABCDEF, 3, 11
    for offset in (0, 2, 4 * (2**32 - 1) + 3):
        bits = torch.zeros(threads, n, dtype=torch.int32)
        uniform, normal = torch.zeros(threads, n), torch.zeros(threads, n)
        libraries.run("draw_philox", bits, uniform, normal, seed, offset, threads, n)
        for thread in range(threads):
            blocks = [philox((thread << 64) + offset // 4 + i, seed) for i in range(n // 4 + 2)]
            expected = [word for block in blocks for word in block][offset % 4 :][:n]
            assert words_of(bits[thread]) == expected
            torch.testing.assert_close(uniform[thread], uniform_of(expected))
    four, counts = torch.zeros(2000, 4), torch.zeros(2000, dtype=torch.int32)
    for mean in (3, 50):
        libraries.run("draw_fours", four, counts, mean, 2000)
        assert words_of(four[0].view(torch.int32)) == words_of(
            uniform_of((philox(0, 7) + philox(1, 7))[1:5]).view(torch.int32)
        )
        assert abs(float(counts.float().mean()) - mean) < 4 * (mean / 2000) ** 0.5
        assert abs(float(counts.float().var()) / mean - 1) < 0.15


def test_xorwow_skips_to_the_state_that_steps_reach(libraries: Kernels) -> None:
    threads, n = 4, 3000

    def draw(offset: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        bits, uniform, normal = (
            torch.zeros(threads, n, dtype=torch.int32),
            torch.zeros(threads, n),
            torch.zeros(threads, n),
        )
        libraries.run("draw_xorwow", bits, uniform, normal, 42, offset, threads, n)
        return bits, uniform, normal

    bits, uniform, normal = draw(0)
    for offset in (1, 5, 1024, 2047):
        assert torch.equal(draw(offset)[0][:, : n - offset], bits[:, offset:])
    assert bits.unique().numel() > threads * n - 10
    torch.testing.assert_close(uniform.view(-1), uniform_of(words_of(bits)))
    # The Box-Muller transform makes each pair from two uniform numbers.
    radius = (-2 * uniform[:, 0::2].double().log()).sqrt()
    angle = 2 * torch.pi * uniform[:, 1::2].double()
    torch.testing.assert_close(normal[:, 0::2].double(), angle.sin() * radius, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(normal[:, 1::2].double(), angle.cos() * radius, rtol=1e-3, atol=1e-4)
    assert abs(float(normal.mean())) < 0.04
    assert abs(float(normal.std()) - 1) < 0.03


@pytest.mark.parametrize(("name", "dtype"), [("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2)])
def test_eight_bit_floats_are_rounded_as_in_torch(libraries: Kernels, name: str, dtype: torch.dtype) -> None:
    patterns = torch.arange(256).to(torch.uint8)
    numbers = patterns.view(dtype).float()
    result = libraries.map(f"from_{name}", torch.float, patterns)
    torch.testing.assert_close(result, numbers, rtol=0, atol=0, equal_nan=True)
    finite = numbers[numbers.isfinite()].sort().values
    middles = (finite[1:] + finite[:-1]) / 2
    floats = torch.cat([finite, middles, torch.nextafter(middles, middles + 1), torch.nextafter(middles, middles - 1)])
    floats = torch.cat([floats, torch.linspace(-500, 500, 4001), torch.tensor([1e9, torch.inf, -torch.inf])])
    limit = torch.finfo(dtype).max
    clamped = floats.clamp(-limit, limit).to(dtype).float()
    over = floats.abs() > 464 if name == "e4m3" else floats.abs() >= 61440
    beyond = torch.full_like(floats, torch.nan if name == "e4m3" else torch.inf).copysign(floats)
    result = libraries.map(f"to_{name}", torch.uint8, floats).view(dtype)
    torch.testing.assert_close(result.float(), torch.where(over, beyond, clamped), rtol=0, atol=0, equal_nan=True)
    result = libraries.map(f"to_{name}_finite", torch.uint8, floats).view(dtype)
    assert torch.equal(result.float(), clamped)
