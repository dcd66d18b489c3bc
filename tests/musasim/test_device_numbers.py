"""Numbers in kernels: half and bfloat16 in every rounding mode, arithmetic, mathematical and integer functions."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from typing import Any

import numpy
import pytest
import torch

from support.device_code import BY_NVCC, Kernels, compile_kernels

pytestmark = pytest.mark.once

SMALL = [("half", torch.float16), ("bfloat16", torch.bfloat16)]
PATTERNS = torch.arange(-32768, 32768, dtype=torch.int32).to(torch.int16)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return Kernels(compile_kernels("numbers.mu", tmp_path_factory.mktemp("numbers")))


def same(result: torch.Tensor, expected: torch.Tensor) -> None:
    """Compare bit by bit, except that all NaNs are equal."""
    integers = {2: torch.int16, 4: torch.int32, 8: torch.int64}[result.element_size()]
    assert result.dtype == expected.dtype
    assert torch.equal(result.isnan(), expected.isnan())
    numbers = ~result.isnan()
    wrong = result[numbers].view(integers) != expected[numbers].view(integers)
    assert not wrong.any(), (result[numbers][wrong][:5], expected[numbers][wrong][:5])


def neighbours(values: numpy.ndarray, dtype: torch.dtype) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The bit patterns of the greatest number not above each value, and of the smallest number not below it."""
    numbers = PATTERNS.view(dtype)
    numbers = numbers[~numbers.isnan() & (numbers.view(torch.int16) != -32768)]
    table, order = numbers.double().sort()
    patterns = numbers[order].view(torch.int16).numpy()
    above = numpy.searchsorted(table.numpy(), values, side="left").clip(0, len(table) - 1)
    below = (numpy.searchsorted(table.numpy(), values, side="right") - 1).clip(0, len(table) - 1)
    return patterns[below], patterns[above]


def rounded(values: torch.Tensor, dtype: torch.dtype, mode: str) -> torch.Tensor:
    """Round by a table of all numbers of the type, which is slow but obviously correct."""
    x = values.double().numpy()
    below, above = neighbours(x, dtype)
    low, high = (torch.from_numpy(each).view(dtype).double().numpy() for each in (below, above))
    if mode == "nearest":
        limit = torch.finfo(dtype).max
        step = limit - float(torch.tensor(limit, dtype=dtype).view(torch.int16).sub(1).view(dtype))
        # For rounding, infinity is one step after the last number.
        ends = [numpy.where(numpy.isinf(each), numpy.copysign(limit + step, each), each) for each in (low, high)]
        with numpy.errstate(invalid="ignore"):
            to_low, to_high = x - ends[0], ends[1] - x
        even = below & 1 == 0
        take_low = (to_low < to_high) | ((to_low == to_high) & even)
        take_low |= numpy.isinf(x)
    else:
        take_low = {"down": numpy.ones_like(x, bool), "up": numpy.zeros_like(x, bool), "zero": x >= 0}[mode]
    result = torch.from_numpy(numpy.where(take_low, below, above)).view(dtype)
    return torch.where(values.isnan(), torch.tensor(torch.nan, dtype=dtype), result.copysign(values.to(dtype)))


def interesting(dtype: torch.dtype) -> torch.Tensor:
    """All numbers of the type, the values half-way between two of them, and values just beside those, as double."""
    numbers = PATTERNS.view(dtype).double()
    finite = numbers[numbers.isfinite()].sort().values
    middles = (finite[1:] + finite[:-1]) / 2
    off = [torch.nextafter(middles, torch.tensor(end, dtype=torch.double)) for end in (torch.inf, -torch.inf)]
    scales = torch.logspace(-50, 45, 20000, dtype=torch.double)
    return torch.cat([numbers, middles, *off, scales, -scales, finite[-1:] * 1.001])


@pytest.mark.full
@pytest.mark.parametrize(("name", "dtype"), SMALL)
def test_small_floats_are_converted_exactly_and_rounded_once(numbers: Kernels, name: str, dtype: torch.dtype) -> None:
    same(numbers.map(f"{name}_to_float", torch.float32, PATTERNS), PATTERNS.view(dtype).float())
    values = interesting(dtype)
    same(numbers.map(f"double_to_{name}", dtype, values), rounded(values, dtype, "nearest"))
    floats = values.float()
    some = floats[::7]
    floats = torch.cat([floats, torch.nextafter(some, some + 1), torch.nextafter(some, some - 1)])
    same(numbers.map(f"float_to_{name}", dtype, floats), rounded(floats, dtype, "nearest"))
    same(numbers.map(f"float_to_{name}", dtype, floats), floats.to(dtype))
    part = floats[::3].contiguous()
    for mode in ("zero", "down", "up"):
        same(numbers.map(f"float_to_{name}_{mode}", dtype, part), rounded(part, dtype, mode))


@pytest.mark.parametrize(("name", "dtype"), SMALL)
def test_small_floats_convert_to_and_from_integers(numbers: Kernels, name: str, dtype: torch.dtype) -> None:
    values = PATTERNS.view(dtype).double()
    with numpy.errstate(invalid="ignore"):
        for mode, whole in (
            ("nearest", values.round()),
            ("zero", values.trunc()),
            ("down", values.floor()),
            ("up", values.ceil()),
        ):
            expected = whole.nan_to_num(nan=0).clamp(-(2**31), 2**31 - 1).to(torch.int32)
            assert torch.equal(numbers.map(f"{name}_to_int_{mode}", torch.int32, PATTERNS), expected), mode
    unsigned = values.trunc().nan_to_num(nan=0).clamp(0, 65535).to(torch.int32)
    assert torch.equal(numbers.map(f"{name}_to_unsigned", torch.uint16, PATTERNS).to(torch.int32), unsigned)
    # The last of 63 bits decides this half-way case. A conversion through double would lose it.
    base = {"half": 2**10 + 1, "bfloat16": (2**7 + 1) << 52}[name]
    half_way = base + (2**51 if name == "bfloat16" else 0)
    integers = torch.tensor(
        [0, 1, -1, 2**62, 65519, 65520, half_way - 1, half_way, half_way + 1, -half_way - 1, 2**63 - 1]
    )
    exact = [Fraction(int(each)) for each in integers]
    result = numbers.map(f"long_to_{name}", dtype, integers)
    down = numbers.map(f"long_to_{name}_down", dtype, integers)
    for value, nearest, below in zip(exact, result, down, strict=True):
        patterns = neighbours_of(value, dtype)
        assert float(nearest) == nearest_of(value, patterns, dtype), value
        assert float(below) == patterns[0], value


def neighbours_of(value: Fraction, dtype: torch.dtype) -> tuple[float, float]:
    numbers = PATTERNS.view(dtype).double()
    table = numbers[~numbers.isnan()].unique().tolist()
    place = bisect_left(table, value)
    return (table[place], table[place]) if table[place] == value else (table[place - 1], table[place])


def number_of(x: torch.Tensor, y: torch.Tensor, extreme: Any) -> torch.Tensor:
    """The maximum or minimum without NaN, because torch.fmax keeps a signalling NaN."""
    return torch.where(x.isnan(), y, torch.where(y.isnan(), x, extreme(x, y)))


def nearest_of(value: Fraction, ends: tuple[float, float], dtype: torch.dtype) -> float:
    low, high = ends
    if low == high:
        return low
    limit = torch.finfo(dtype).max
    top = Fraction(limit) + (
        Fraction(limit) - Fraction(float(torch.tensor(limit, dtype=dtype).view(torch.int16).sub(1).view(dtype)))
    )
    up, down = (top if high == numpy.inf else Fraction(high)) - value, value - Fraction(low)
    if up == down:
        return low if int(torch.tensor(low, dtype=dtype).view(torch.int16)) % 2 == 0 else high
    return low if down < up else high


@pytest.mark.parametrize(("name", "dtype"), SMALL)
def test_small_float_arithmetic_is_rounded_correctly(numbers: Kernels, name: str, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(3)
    a, b, c = (
        torch.randint(-32768, 32768, (30_000,), generator=generator).to(torch.int16).view(dtype) for _ in range(3)
    )
    near = (b.view(torch.int16) + torch.randint(-2, 3, b.shape, generator=generator).to(torch.int16)).view(dtype)
    for x, y in ((a, b), (b, near)):
        same(numbers.map(f"{name}_add", dtype, x, y, c), x + y)
        same(numbers.map(f"{name}_sub", dtype, x, y, c), x - y)
        same(numbers.map(f"{name}_mul", dtype, x, y, c), x * y)
        same(numbers.map(f"{name}_div", dtype, x, y, c), (x.double() / y.double()).float().to(dtype))
        both_zero = (x == 0) & (y == 0)
        x, y = x[~both_zero], y[~both_zero]
        same(numbers.map(f"{name}_max", dtype, x, y, x), number_of(x, y, torch.maximum))
        same(numbers.map(f"{name}_min", dtype, x, y, x), number_of(x, y, torch.minimum))
        same(numbers.map(f"{name}_max_nan", dtype, x, y, x), torch.maximum(x, y))
        bits = numbers.map(f"{name}_compare", torch.int32, x, y, x)
        expected = [x == y, x != y, x < y, x <= y, x > y, ~(x < y)]
        assert torch.equal(bits, sum(each.int() << i for i, each in enumerate(expected)))
    for function in ("exp", "log2", "sqrt", "rsqrt", "tanh", "floor"):
        expected = getattr(torch, function)(PATTERNS.view(dtype).double())
        same(numbers.map(f"{name}_{function}", dtype, PATTERNS), rounded(expected, dtype, "nearest"))
    same(numbers.map(f"{name}_rint", dtype, PATTERNS), PATTERNS.view(dtype).double().round().to(dtype))


@pytest.mark.parametrize(("name", "dtype"), SMALL)
def test_fused_multiplication_rounds_once(numbers: Kernels, name: str, dtype: torch.dtype) -> None:
    """The addends are chosen so that the product's last bit decides how a half-way case is rounded."""
    generator = torch.Generator().manual_seed(5)
    a, b = ((torch.rand(3000, generator=generator) + 1).to(dtype) for _ in range(2))
    step = torch.finfo(dtype).eps
    c = (
        (torch.randint(1, 2000, (3000,), generator=generator).double() * 4 / step).to(dtype)
        if name == "bfloat16"
        else (torch.randint(64, 2000, (3000,), generator=generator).double() * 16).to(dtype)
    )
    tiny = torch.tensor([1 + step, 1.5, 2**-10, 1 + step]).to(dtype)
    a, b, c = (torch.cat([x, y]) for x, y in ((a, tiny), (b, tiny.flip(0)), (c, (tiny * 512))))
    result = numbers.map(f"{name}_fma", dtype, a, b, c)
    for x, y, z, got in zip(a.tolist(), b.tolist(), c.tolist(), result.tolist(), strict=True):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        bound = abs(Fraction(got) - exact)
        pattern = int(torch.tensor(got, dtype=dtype).view(torch.int16))
        for other in (pattern - 1, pattern + 1):
            distance = abs(Fraction(float(torch.tensor(other, dtype=torch.int16).view(dtype))) - exact)
            assert bound < distance or (bound == distance and pattern % 2 == 0), (x, y, z, got)


def test_mathematical_functions_agree_with_torch(numbers: Kernels) -> None:
    x = torch.cat([torch.linspace(-30, 30, 6001), torch.linspace(-1, 1, 6001), torch.logspace(-30, 2.5, 500)]).double()
    unit = (x / 30).clamp(-1, 1)
    for entry, values, expected in (
        ("d_rcbrt", x[x != 0], torch.from_numpy(1 / numpy.cbrt(x[x != 0].numpy()))),
        ("d_erfinv", unit, torch.special.erfinv(unit)),
        ("d_erfcx", x.clamp(min=-20), torch.special.erfcx(x.clamp(min=-20))),
        ("d_normcdf", x, torch.special.erfc(-x / 2**0.5) / 2),
        ("d_normcdfinv", unit.abs(), torch.special.ndtri(unit.abs())),
        ("d_bessel_i0", x, torch.special.i0(x)),
        ("d_bessel_i1", x, torch.special.i1(x)),
    ):
        torch.testing.assert_close(
            numbers.map(entry, torch.double, values), expected, rtol=1e-12, atol=1e-280, msg=entry
        )
    f = x.float()
    torch.testing.assert_close(
        numbers.map("f_rsqrt", torch.float, f.abs() + 1e-30), (f.double().abs() + 1e-30).rsqrt().float()
    )
    # CUDA's manual: the error of __expf is 2 + floor(abs(1.173 * x)) units in the last place.
    torch.testing.assert_close(numbers.map("f_fast_exp", torch.float, f), f.exp(), rtol=2e-5, atol=0)
    torch.testing.assert_close(numbers.map("f_sigmoid", torch.float, f), f.sigmoid())
    with_nan = torch.cat([f, torch.tensor([torch.nan])])
    same(numbers.map("f_saturate", torch.float, with_nan), with_nan.nan_to_num(nan=0).clamp(0, 1) + 0)
    turns = torch.tensor([0, 0.5, 1, 1.5, 2, 0.25, 1e15 + 0.5, 1 / 6, torch.inf], dtype=torch.double)
    root = 2**-0.5
    sines = torch.tensor([0, 1, 0, -1, 0, root, 1, 0.5, torch.nan], dtype=torch.double)
    cosines = torch.tensor([1, 0, -1, 0, 1, root, 0, 0.75**0.5, torch.nan], dtype=torch.double)
    torch.testing.assert_close(numbers.map("d_sinpi", torch.double, turns), sines, rtol=1e-15, atol=0, equal_nan=True)
    torch.testing.assert_close(numbers.map("d_cospi", torch.double, turns), cosines, rtol=1e-15, atol=0, equal_nan=True)
    big = torch.tensor([3e200, 0, 1, torch.inf], dtype=torch.double)
    more = torch.tensor([4e200, 0, 2, torch.nan], dtype=torch.double)
    norms = torch.tensor([5e200, 0, 5**0.5, torch.inf], dtype=torch.double)
    torch.testing.assert_close(numbers.map("d_norm3d", torch.double, big, more, big * 0), norms)
    torch.testing.assert_close(numbers.map("d_rhypot", torch.double, big[:1], more[:1], big[:1]), 1 / norms[:1])


def test_rounding_follows_the_named_direction(numbers: Kernels) -> None:
    generator = torch.Generator().manual_seed(7)
    for entry, dtype, exact in (
        ("fadd", torch.float, lambda a, b, _: a + b),
        ("fmul", torch.float, lambda a, b, _: a * b),
        ("fdiv", torch.float, lambda a, b, _: a / b),
        ("fma", torch.float, lambda a, b, c: a * b + c),
        ("dadd", torch.double, lambda a, b, _: a + b),
        ("dmul", torch.double, lambda a, b, _: a * b),
        ("ddiv", torch.double, lambda a, b, _: a / b),
    ):
        scale = 10.0 ** torch.randint(-8, 9, (3, 400), generator=generator)
        a, b, c = (torch.randn(3, 400, generator=generator) * scale).to(dtype)
        results = {mode: numbers.map(f"{entry}_{mode}", dtype, a, b, c) for mode in ("rn", "rz", "rd", "ru")}
        for i, (x, y, z) in enumerate(zip(a.tolist(), b.tolist(), c.tolist(), strict=True)):
            value = exact(Fraction(x), Fraction(y), Fraction(z))
            down, up, zero, nearest = (results[mode][i] for mode in ("rd", "ru", "rz", "rn"))
            assert Fraction(float(down)) <= value <= Fraction(float(up)), (entry, x, y, z)
            exactly = Fraction(float(down)) == value
            assert exactly == (down == up)
            assert exactly or torch.nextafter(down, up) == up, (entry, x, y, z)
            assert zero == (down if value >= 0 else up)
            off = [abs(Fraction(float(each)) - value) for each in (nearest, down, up)]
            assert off[0] == min(off)


def test_integer_functions_follow_their_definitions(numbers: Kernels) -> None:
    generator = torch.Generator().manual_seed(11)
    edges = torch.tensor([0, 1, -1, 2**31 - 1, -(2**31), 0x00010000])
    a, b, c = (
        torch.cat([edges, torch.randint(-(2**31), 2**31, (500,), generator=generator)]).to(torch.int32)
        for _ in range(3)
    )
    unsigned = [[each & 0xFFFFFFFF for each in x.tolist()] for x in (a, b, c)]

    def expect(entry: str, expected: list[int], *inputs: torch.Tensor) -> None:
        result = numbers.map(entry, torch.int32, *inputs).tolist()
        assert [each & 0xFFFFFFFF for each in result] == [each & 0xFFFFFFFF for each in expected], entry

    def pairs(bits: int, signed: bool = False) -> list[list[tuple[int, int]]]:
        return [list(zip(parts(x, bits, signed), parts(y, bits, signed), strict=True)) for x, y, _ in words]

    def parts(word: int, bits: int, signed: bool = False) -> list[int]:
        found = [word >> i & (1 << bits) - 1 for i in range(0, 32, bits)]
        return [each - (1 << bits) if signed and each >> (bits - 1) else each for each in found]

    def word(found: list[int], bits: int) -> int:
        return sum((each & (1 << bits) - 1) << i * bits for i, each in enumerate(found))

    words = list(zip(*unsigned, strict=True))
    expect("popc", [x.bit_count() for x in unsigned[0]], a)
    expect("clz", [32 - x.bit_length() for x in unsigned[0]], a)
    expect("ffs", [(x & -x).bit_length() for x in unsigned[0]], a)
    expect("brev", [int(f"{x:032b}"[::-1], 2) for x in unsigned[0]], a)
    expect("umulhi", [x * y >> 32 for x, y, _ in words], a, b, c)
    expect("funnel_l", [(y << 32 | x) << (z & 31) >> 32 for x, y, z in words], a, b, c)
    expect("funnel_rc", [(y << 32 | x) >> min(z % 40, 32) for x, y, z in words], a, b, c)

    def permuted(x: int, y: int, z: int) -> int:
        return word([(y << 32 | x) >> 8 * (z >> 4 * i & 7) & 0xFF for i in range(4)], 8)

    expect("byte_perm", [permuted(*each) for each in words], a, b, c)
    dots = [sum(p * q for p, q in each) for each in pairs(8, True)]
    expect("dp4a", [dot + z for dot, z in zip(dots, unsigned[2], strict=True)], a, b, c)
    expect("vadd4", [word([p + q for p, q in each], 8) for each in pairs(8)], a, b, c)
    expect(
        "vsubss2", [word([max(-32768, min(32767, p - q)) for p, q in each], 16) for each in pairs(16, True)], a, b, c
    )
    expect("vcmpgtu4", [word([-(p > q) for p, q in each], 8) for each in pairs(8)], a, b, c)
    expect("mixed_max", [max(x, y) for x, y, _ in words], a, b, c)

    x = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, 3e9, -3e9, torch.nan, torch.inf, 1e-40, 8388607.5])
    for mode, whole in (("rn", x.round()), ("rz", x.trunc()), ("rd", x.floor()), ("ru", x.ceil())):
        expected = whole.double().nan_to_num(nan=0).clamp(-(2**31), 2**31 - 1).to(torch.int32)
        assert torch.equal(numbers.map(f"float_to_int_{mode}", torch.int32, x), expected), mode
    large = torch.tensor([-1, 0.5, 1.5, 2.0**63, 2.0**64, 2.0**64 - 2048, torch.nan], dtype=torch.double)
    result = [each & (2**64 - 1) for each in numbers.map("double_to_ull_rz", torch.int64, large).tolist()]
    assert result == [0, 0, 1, 2**63, 2**64 - 1, 2**64 - 2048, 2**63], "NaN is the highest bit"
    nans = torch.tensor([[torch.nan, 1.0], [2.0, torch.nan], [0.0, 0.0]])
    same(numbers.map("nan_min", torch.float, *nans), torch.tensor([2.0, 1.0]))


@pytest.mark.skipif(BY_NVCC, reason="nvcc finds two operators that fit as well as each other")
def test_mixed_half_and_float_are_compared_as_float(numbers: Kernels) -> None:
    a, b = torch.tensor([1.0, 2, torch.nan, -3]).half(), torch.tensor([1.0, 3, 1, -3]).half()
    result = numbers.map("either_way", torch.int32, a, b, b)
    assert result.tolist() == [1 | 4, 2 | 4, 4, 1 | 4]
