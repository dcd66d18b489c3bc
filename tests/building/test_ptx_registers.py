"""PTX in registers, and programs of several instructions: each line gives what the PTX manual says, for all kinds of operands."""

from __future__ import annotations

import ctypes
import math
import random
import struct
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from musasim import toolkit
from torchada.porting import port_source

pytestmark = pytest.mark.once

Words = tuple[int, int, int, int]
HALVES = 0x7BFF7BFF  # neither infinite nor no number
BLOCKS = 8
LANES = 32


def signed(value: int, width: int = 32) -> int:
    return value - (1 << width) if value >> (width - 1) & 1 else value


def number(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def bits(value: float) -> int:
    try:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    except OverflowError:
        return 0x7F800000 | (0x80000000 if value < 0 else 0)


def half(bits16: int) -> float:
    return float(struct.unpack("<e", struct.pack("<H", bits16 & 0xFFFF))[0])


def half_bits(value: float) -> int:
    if math.isnan(value):
        return 0x7FFF
    try:
        return int(struct.unpack("<H", struct.pack("<e", value))[0])
    except OverflowError:
        return 0x7C00 | (0x8000 if value < 0 else 0)


def bfloat16_bits(value: float) -> int:
    """To the nearest, and among two to the even one."""
    if math.isnan(value):
        return 0x7FFF
    whole = bits(value)
    return whole + 0x7FFF + (whole >> 16 & 1) >> 16 & 0xFFFF


def lookup(a: int, b: int, c: int, table: int) -> int:
    return sum((table >> ((a >> at & 1) << 2 | (b >> at & 1) << 1 | c >> at & 1) & 1) << at for at in range(32))


def to_whole(value: float, low: int, high: int, rounding: Callable[[Fraction], int] = round) -> int:
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(rounding(Fraction(value)), low), high)


def pair(low: int, high: int) -> int:
    return low & 0xFFFF | (high & 0xFFFF) << 16


def of_halves(function: Callable[..., float], *pairs: int) -> int:
    low, high = (half_bits(function(*(half(each >> shift) for each in pairs))) for shift in (0, 16))
    return pair(low, high)


def single_sum(a: float, b: float) -> int:
    return bits(a + b)


def flushed(value: float) -> float:
    """Numbers below the normal ones count as zeros."""
    return math.copysign(0.0, value) if abs(value) < 2.0**-126 else value


def larger(x: float, y: float) -> float:
    """The number where the other is none, and +0 of two zeros."""
    if math.isnan(x) or math.isnan(y):
        return y if math.isnan(x) else x
    return x if (x, math.copysign(1, x)) > (y, math.copysign(1, y)) else y


def compared(function: Callable[[float, float], bool], a: int, b: int) -> int:
    low, high = (function(half(a >> shift), half(b >> shift)) for shift in (0, 16))
    return pair(0xFFFF * low, 0xFFFF * high)


def not_negative(value: float) -> float:
    return 0.0 if value < 0 else value


def of_e4m3(byte: int) -> float:
    exponent, mantissa = byte >> 3 & 15, byte & 7
    if byte & 127 == 127:
        return math.nan
    value = math.ldexp(mantissa, -9) if exponent == 0 else math.ldexp(8 + mantissa, exponent - 10)
    return -value if byte & 128 else value


def e4m3(value: float) -> int:
    """The nearest, and among two the one with an even mantissa; what is too large becomes the largest."""
    if math.isnan(value):
        return 0x7F
    sign = 128 if math.copysign(1, value) < 0 else 0
    return sign | min(
        range(127), key=lambda byte: (abs(Fraction(of_e4m3(byte)) - min(Fraction(10**6), abs(value))), byte & 1)
    )


def square_and_sum(a: float, b: float) -> int:
    """Rounded once."""
    if not math.isfinite(a) or not math.isfinite(b):
        return bits(a * a + b)
    exact = Fraction(a) ** 2 + Fraction(b)
    near = bits(float(exact))
    candidates = [each for each in (near - 1, near, near + 1) if each >= 0 and math.isfinite(number(each))]
    closest = min(candidates, key=lambda each: (abs(Fraction(number(each)) - exact), each & 1))
    return closest if abs(exact) < Fraction(2) ** 128 - Fraction(2) ** 103 else near


def some(word: int) -> float:
    """As the source has it: a number that is no whole one, and of which a sum and a product are finite."""
    return number(bits((word & 4095) * number(bits(0.37))))


def two(low: int, high: int) -> int:
    return low | high << 32


# What is computed from the words a, b, c and d: the instruction, the constraint and the type of its result, its inputs, the result.
ROWS: list[tuple[str, str, str, Callable[[int, int, int, int], int]]] = [
    ("add.s32 %0, %1, %2;", "=r", "ab", lambda a, b, c, d: a + b),
    ("sub.u32 %0, %1, 7;", "=r", "a", lambda a, b, c, d: a - 7),
    ("mul.lo.s32 %0, %1, %2;", "=r", "ab", lambda a, b, c, d: a * b),
    ("mul.hi.u32 %0, %1, %2;", "=r", "ab", lambda a, b, c, d: a * b >> 32),
    ("mul.hi.s32 %0, %1, %2;", "=r", "ab", lambda a, b, c, d: signed(a) * signed(b) >> 32),
    ("mad.lo.u32 %0, %1, %2, %3;", "=r", "abc", lambda a, b, c, d: a * b + c),
    ("mul.wide.u32 %0, %1, %2;", "=l", "ab", lambda a, b, c, d: a * b),
    ("mul.wide.s32 %0, %1, %2;", "=l", "ab", lambda a, b, c, d: signed(a) * signed(b)),
    ("min.s32 %0, %1, %2;", "=r", "ab", lambda a, b, c, d: min(signed(a), signed(b))),
    ("max.u32 %0, %1, %2;", "=r", "ab", lambda a, b, c, d: max(a, b)),
    ("xor.b32 %0, %1, %2;", "=r", "ab", lambda a, b, c, d: a ^ b),
    ("not.b32 %0, %1;", "=r", "a", lambda a, b, c, d: ~a),
    ("shl.b32 %0, %1, %2;", "=r", "ac", lambda a, b, c, d: a << c if c < 32 else 0),
    ("shr.s32 %0, %1, %2;", "=r", "ac", lambda a, b, c, d: signed(a) >> min(c, 31)),
    ("shr.u32 %0, %1, %2;", "=r", "ac", lambda a, b, c, d: a >> c if c < 32 else 0),
    ("lop3.b32 %0, %1, %2, %3, 0xea;", "=r", "abd", lambda a, b, c, d: lookup(a, b, d, 0xEA)),
    ("lop3.b32 %0, %1, %2, %3, 0x96;", "=r", "abd", lambda a, b, c, d: a ^ b ^ d),
    ("popc.b32 %0, %1;", "=r", "a", lambda a, b, c, d: a.bit_count()),
    ("brev.b32 %0, %1;", "=r", "a", lambda a, b, c, d: int(f"{a:032b}"[::-1], 2)),
    ("mov.b32 %0, 0xFF800000;", "=r", "", lambda a, b, c, d: 0xFF800000),
    ("cvt.rni.sat.s8.f32 %0, %1;", "=r", "A", lambda a, b, c, d: to_whole(number(a), -128, 127)),
    ("cvt.rni.sat.s32.f32 %0, %1;", "=r", "A", lambda a, b, c, d: to_whole(number(a), -(2**31), 2**31 - 1)),
    ("cvt.rzi.u32.f32 %0, %1;", "=r", "A", lambda a, b, c, d: to_whole(number(a), 0, 2**32 - 1, int)),
    ("cvt.sat.s8.s32 %0, %1;", "=r", "a", lambda a, b, c, d: min(max(signed(a), -128), 127)),
    ("cvt.rn.f32.u32 %0, %1;", "=f", "a", lambda a, b, c, d: bits(float(a))),
    ("cvt.rn.f16x2.f32 %0, %1, %2;", "=r", "CD", lambda a, b, c, d: pair(half_bits(number(d)), half_bits(number(c)))),
    (
        "cvt.rn.bf16x2.f32 %0, %1, %2;",
        "=r",
        "CD",
        lambda a, b, c, d: pair(bfloat16_bits(number(d)), bfloat16_bits(number(c))),
    ),
    ("cvt.f32.f16 %0, %1;", "=f", "x", lambda a, b, c, d: bits(half(d & HALVES))),
    ("add.f16x2 %0, %1, %2;", "=r", "de", lambda a, b, c, d: of_halves(lambda x, y: x + y, d & HALVES, d & HALVES)),
    ("mul.f16 %0, %1, %2;", "=h", "xx", lambda a, b, c, d: half_bits(half(d & HALVES) ** 2)),
    ("mul.rn.f16x2 %0, %1, %2;", "=r", "de", lambda a, b, c, d: of_halves(lambda x, y: x * y, d & HALVES, d & HALVES)),
    ("sub.rn.f32 %0, %1, %2;", "=f", "CD", lambda a, b, c, d: single_sum(number(c), -number(d))),
    ("sub.ftz.f32 %0, %1, %2;", "=f", "CD", lambda a, b, c, d: single_sum(flushed(number(c)), -flushed(number(d)))),
    ("{ .reg .f32 t; add.rn.ftz.f32 t, %1, 0f00000001; mov.b32 %0, t; }", "=&f", "C", lambda a, b, c, d: 0),
    ("fma.rn.f32.bf16 %0, %1, %2, %3;", "=f", "yyD", lambda a, b, c, d: square_and_sum(number(pair(0, a)), number(d))),
    ("add.rn.f32 %0, %1, %2;", "=f", "CD", lambda a, b, c, d: single_sum(number(c), number(d))),
    ("mov.b32 %0, {%1, %2};", "=r", "xy", lambda a, b, c, d: pair(d & HALVES, a)),
    (
        "{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; mov.b32 %0, {hi, lo}; }",
        "=r",
        "a",
        lambda a, b, c, d: pair(a >> 16, a),
    ),
    (
        "{\n .reg .pred p, q;\n setp.lt.s32 p, %1, %2;\n setp.ge.u32 q, %2, 8;\n and.pred p, p, q;\n selp.b32 %0, %1, 9, p;\n}",
        "=r",
        "ab",
        lambda a, b, c, d: a if signed(a) < signed(b) and b >= 8 else 9,
    ),
    (
        "{ .reg .pred p; .reg .u32 t; setp.ne.u32 p, %1, 0; add.u32 t, %2, %2; @p add.u32 %0, t, 1; @!p mov.u32 %0, 6; }",
        "=r",
        "cb",
        lambda a, b, c, d: 2 * b + 1 if c else 6,
    ),
    ("redux.sync.add.u32 %0, %1, 0xFFFFFFFF;", "=r", "t", lambda a, b, c, d: sum(range(LANES))),
    ("{ .reg .s32 t; not.b32 t, %1; redux.sync.min.s32 %0, t, -1; }", "=r", "t", lambda a, b, c, d: -LANES),
    ("redux.sync.or.b32 %0, %1, 0xffffffff;", "=r", "t", lambda a, b, c, d: LANES - 1),
    ("redux.sync.min.f32 %0, %1, 0xffffffff;", "=f", "T", lambda a, b, c, d: bits(0.5)),
    ("max.f16x2 %0, %1, %2;", "=r", "ea", lambda a, b, c, d: of_halves(larger, d & HALVES, a)),
    ("set.le.u32.f16x2 %0, %1, %2;", "=r", "ea", lambda a, b, c, d: compared(lambda x, y: x <= y, d & HALVES, a)),
    ("set.gtu.u32.f16x2 %0, %1, %2;", "=r", "ea", lambda a, b, c, d: compared(lambda x, y: not x <= y, d & HALVES, a)),
    (
        "cvt.rn.relu.f16x2.f32 %0, %1, %2;",
        "=r",
        "ad",
        lambda a, b, c, d: pair(half_bits(not_negative(number(d))), half_bits(not_negative(number(a)))),
    ),
    (
        "cvt.rn.f16x2.e4m3x2 %0, %1;",
        "=r",
        "y",
        lambda a, b, c, d: pair(half_bits(of_e4m3(a & 255)), half_bits(of_e4m3(a >> 8 & 255))),
    ),
    (
        "cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;",
        "=h",
        "CD",
        lambda a, b, c, d: e4m3(number(d)) | e4m3(number(c)) << 8,
    ),
    (
        "dp4a.s32.s32 %0, %1, %2, %3;",
        "=r",
        "abc",
        lambda a, b, c, d: c + sum(signed(a >> at & 255, 8) * signed(b >> at & 255, 8) for at in (0, 8, 16, 24)),
    ),
    (
        "add.f32x2 %0, %1, %2;",
        "=l",
        "GH",
        lambda a, b, c, d: two(single_sum(some(a), some(d)), single_sum(some(b), some(a))),
    ),
    (
        "sub.rn.f32x2 %0, %1, %2;",
        "=l",
        "GH",
        lambda a, b, c, d: two(single_sum(some(a), -some(d)), single_sum(some(b), -some(a))),
    ),
    ("mul.rn.f32x2 %0, %1, %2;", "=l", "GH", lambda a, b, c, d: two(bits(some(a) * some(d)), bits(some(b) * some(a)))),
    (
        "fma.rn.f32x2 %0, %1, %1, %2;",
        "=l",
        "GH",
        lambda a, b, c, d: two(square_and_sum(some(a), some(d)), square_and_sum(some(b), some(a))),
    ),
    (
        "{ .reg .b64 t; mov.b64 t, {%1, %2}; mul.ftz.f32x2 %0, t, t; }",
        "=l",
        "cF",
        lambda a, b, c, d: two(0, bits(some(a) ** 2)),
    ),
    ("{ .reg .b32 t; mov.b64 {t, %0}, %1; }", "=f", "G", lambda a, b, c, d: bits(some(b))),
    # A float in a register of 32 bits, and plain bits in one of a float.
    ("add.rn.f32 %0, %1, %2;", "=r", "FF", lambda a, b, c, d: single_sum(some(a), some(a))),
    ("{ .reg .b32 t; add.f32 t, %1, %1; mov.b32 %0, t; }", "=f", "F", lambda a, b, c, d: single_sum(some(a), some(a))),
    ("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;", "=f", "tt", lambda a, b, c, d: 0),  # checked below
    ("{ st.global.cg.b32 [%1], %2; ld.global.b32 %0, [%1]; }", "=f", "OF", lambda a, b, c, d: bits(some(a))),
    (
        "{ .reg.pred %%p; setp.lt.f32 %%p, %1, 0f40800000; selp.b32 %0, %1, %1, %%p; }",
        "=f",
        "F",
        lambda a, b, c, d: bits(some(a)),
    ),
    ("div.rn.f32 %0, %1, 0f40400000;", "=f", "T", lambda a, b, c, d: 0),  # checked below
    ("shfl.sync.bfly.b32 %0, %1, 3, 0x1f, 0xffffffff;", "=r", "t", lambda a, b, c, d: 0),  # checked below
]
# What differs from lane to lane.
OF_A_LANE: dict[int, Callable[[int], int]] = {
    ROWS.index(next(row for row in ROWS if "shfl.sync.idx" in row[0])): lambda lane: lane,
    len(ROWS) - 2: lambda lane: bits((lane + 0.5) / 3),
    len(ROWS) - 1: lambda lane: lane ^ 3,
}
TYPES = {"r": "uint32_t", "l": "uint64_t", "f": "float", "h": "uint16_t"}
INPUTS = {
    **{name: f'"r"({name})' for name in "abcd"},
    "e": '"r"(e)',
    "t": '"r"(threadIdx.x)',
    "T": '"f"((float)threadIdx.x + 0.5f)',
    "F": '"f"(some(a))',
    "G": '"l"((uint64_t)__float_as_uint(some(b)) << 32 | __float_as_uint(some(a)))',
    "H": '"l"((uint64_t)__float_as_uint(some(a)) << 32 | __float_as_uint(some(d)))',
    "O": '"l"(out + AT)',
    "x": '"h"((uint16_t)e)',
    "y": '"h"((uint16_t)a)',
    **{name: f'"f"(__uint_as_float({name.lower()}))' for name in "ACD"},
}


def statement(at: int) -> str:
    template, constraint, inputs, _ = ROWS[at]
    place = f"{len(ROWS)} * i + {at}"
    given = ", ".join(INPUTS[each] for each in inputs.replace("de", "ee")).replace("AT", place)
    kind = constraint[-1]
    store = "__float_as_uint(r)" if kind == "f" else "r"
    text = template.replace("\n", "\\n")
    return f'{{ {TYPES[kind]} r; asm volatile("{text}" : "{constraint}"(r) : {given}); out[{place}] = {store}; }}'


def source() -> str:
    lines = "\n  ".join(statement(at) for at in range(len(ROWS)))
    return f"""
#include <cuda_runtime.h>
#include <stdint.h>

static __device__ float some(uint32_t word) {{ return (float)(word & 4095u) * 0.37f; }}

__global__ void all(const uint32_t* in, uint64_t* out) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t a = in[4 * i], b = in[4 * i + 1], c = in[4 * i + 2], d = in[4 * i + 3], e = d & {HALVES:#x};
  {lines}
}}

extern "C" int run(const uint32_t* in, uint64_t* out, int blocks) {{
  uint32_t* x;
  uint64_t* y;
  cudaMalloc(&x, blocks * {LANES} * 16);
  cudaMalloc(&y, blocks * {LANES} * {8 * len(ROWS)});
  cudaMemcpy(x, in, blocks * {LANES} * 16, cudaMemcpyHostToDevice);
  all<<<blocks, {LANES}>>>(x, y);
  cudaMemcpy(out, y, blocks * {LANES} * {8 * len(ROWS)}, cudaMemcpyDeviceToHost);
  return cudaDeviceSynchronize();
}}
"""


def compiled(text: str, folder: Path) -> ctypes.CDLL:
    """A library of what a build makes of a source: the port, with the headers that its translated PTX needs."""
    result = port_source(text.encode())
    assert not result.findings and b"asm" not in result.text
    assert result.text.count(b"\n") == text.count("\n")
    (folder / "all.mu").write_bytes(b"".join(b"#include <%b>\n" % each.encode() for each in result.lost) + result.text)
    words = [str(toolkit.home() / "bin" / "mcc"), "-O1", "-shared", "-fPIC", "all.mu", "-o", "all.so", "-lmusart"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=folder)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "all.so"))


def is_no_number(value: int) -> bool:
    return value & 0x7FFFFFFF > 0x7F800000


def some_words() -> list[Words]:
    """Among others numbers that are near one another, small ones, and what is no number; c is small, and as a float a subnormal."""
    random.seed(0)
    special = [0, 1, 7, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F800000, 0xFF800000, 0x7FC00000]
    floats = [bits(random.uniform(-300, 300)) for _ in range(60)] + [bits(at + 0.5) for at in range(-4, 4)]

    def one() -> int:
        return random.choice((random.getrandbits(32), random.choice(special), random.choice(floats)))

    return [(one(), one(), random.choice((0, 1, 5, 31, 32, 40)), one()) for _ in range(BLOCKS * LANES)]


@pytest.mark.full
def test_each_instruction_gives_what_the_manual_says(tmp_path: Path) -> None:
    words = some_words()
    library = compiled(source(), tmp_path)
    given = (ctypes.c_uint32 * (4 * len(words)))(*(each for four in words for each in four))
    got = (ctypes.c_uint64 * (len(ROWS) * len(words)))()
    assert library.run(given, got, BLOCKS) == 0
    for thread, four in enumerate(words):
        for at, (template, constraint, _, expected) in enumerate(ROWS):
            found = got[len(ROWS) * thread + at]
            if at in OF_A_LANE:
                assert found == OF_A_LANE[at](thread % LANES)
                continue
            wanted = expected(*four)
            if constraint[-1] == "f" and is_no_number(wanted):
                assert is_no_number(found), (template, four)
                continue
            assert found == wanted & (2**64 - 1 if constraint == "=l" else 2**32 - 1), (
                template,
                [hex(x) for x in four],
            )


ELSEWHERE = r"""
#include <cuda_runtime.h>
#include <stdint.h>

static __device__ void give(uint32_t* at, uint32_t flag) {
  asm volatile("st.release.sys.global.u32 [%1], %0;" ::"r"(flag), "l"(at));
}
static __device__ uint32_t take(uint32_t* at) {
  uint32_t flag;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(flag) : "l"(at));
  return flag;
}
__global__ void all(uint32_t* out, uint32_t n) {
  const uint32_t t = threadIdx.x;
  uint32_t r0, r1, r2, r3;
  asm volatile(
      "{\n"
      "  .reg .pred p0, p1;\n"
      "  setp.ne.u32 p0, %4, 0;\n"
      "  setp.lt.u32 p1, %5, %6;\n"
      "  mov.u32 %0, 7;\n"
      "  mov.u32 %1, 7;\n"
      "  @p0 ld.global.cg.u32 %0, [%7];\n"
      "  @p1 ld.global.cg.u32 %1, [%7+4];\n"
      "  ld.global.v2.u32 {%2, %3}, [%7 + 8];\n"
      "}\n"
      : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
      : "r"((int)(t % 2)), "r"(t), "r"(n), "l"(out));
  asm volatile("bar.sync 0;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  uint32_t before;
  asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(out + 4), "r"(2) : "memory");
  asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(out + 5), "r"(3) : "memory");
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  uint32_t x = t, y = 1;
  asm("{ add.u32 %0, %1, %0; mov.u32 %1, %0; }" : "+r"(x), "+r"(y));
  if (t == 0) give(out + 6, 40);
  __syncthreads();
  uint32_t* mine = out + 8 + 8 * t;
  mine[0] = r0; mine[1] = r1; mine[2] = r2; mine[3] = r3; mine[4] = x; mine[5] = y; mine[6] = take(out + 6); mine[7] = before;
}
extern "C" int run(uint32_t* all_of_it, uint32_t n) {
  uint32_t* y;
  cudaMalloc(&y, 4 * (8 + 8 * 32));
  cudaMemcpy(y, all_of_it, 4 * 8, cudaMemcpyHostToDevice);
  all<<<1, 32>>>(y, n);
  cudaMemcpy(all_of_it, y, 4 * (8 + 8 * 32), cudaMemcpyDeviceToHost);
  return cudaDeviceSynchronize();
}
"""


@pytest.mark.full
def test_predicates_guard_what_stands_behind_them_and_orders_hold(tmp_path: Path) -> None:
    library = compiled(ELSEWHERE, tmp_path)
    memory = (ctypes.c_uint32 * (8 + 8 * 32))(11, 12, 13, 14)
    assert library.run(memory, 10) == 0
    assert list(memory[4:7]) == [2 * 32, 3 * 32, 40]
    for t in range(32):
        row = list(memory[8 + 8 * t : 16 + 8 * t])
        assert row[:4] == [11 if t % 2 else 7, 12 if t < 10 else 7, 13, 14]
        assert row[4:7] == [t + 1, t + 1, 40]
    assert sorted(memory[15::8]) == [3 * t for t in range(32)]


def test_halves_bring_their_header_and_say_so() -> None:
    result = port_source(b'asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(y));')
    assert result.lost == ("musa_fp16.h",)
    assert b"__half_as_ushort(__float2half_rn(a))" in result.text
    assert port_source(b'asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(y), "f"(z));').lost == ("musa_bf16.h",)


SOME_LANES = r"""
#include <cuda_runtime.h>
__global__ void all(float* out) {
  const unsigned t = threadIdx.x, mask = 0xAAAAAAA8u;
  if (!(mask >> t & 1)) return;
  unsigned chosen, leader, sum;
  int least;
  float most;
  asm volatile("{ .reg .pred p; elect.sync %0|p, %2; selp.b32 %1, 1, 0, p; }" : "=r"(leader), "=r"(chosen) : "r"(mask));
  asm volatile("redux.sync.add.u32 %0, %1, %2;" : "=r"(sum) : "r"(t), "r"(mask));
  asm volatile("redux.sync.min.s32 %0, %1, %2;" : "=r"(least) : "r"(-(int)t), "r"(mask));
  asm volatile("redux.sync.max.f32 %0, %1, %2;" : "=f"(most) : "f"(t == 31 ? nanf("") : t + 0.5f), "r"(mask));
  asm volatile("{ .reg .pred p; elect.sync _|p, %1; @p add.u32 %0, %0, 10; }" : "+r"(chosen) : "r"(mask));
  float* mine = out + 5 * t;
  mine[0] = leader; mine[1] = chosen; mine[2] = sum; mine[3] = least; mine[4] = most;
}
extern "C" int run(float* out) {
  float* y;
  cudaMalloc(&y, 4 * 5 * 32);
  cudaMemset(y, 0, 4 * 5 * 32);
  all<<<1, 32>>>(y);
  cudaMemcpy(out, y, 4 * 5 * 32, cudaMemcpyDeviceToHost);
  return cudaDeviceSynchronize();
}
"""


@pytest.mark.full
def test_lanes_of_a_mask_elect_one_and_reduce_among_themselves(tmp_path: Path) -> None:
    library = compiled(SOME_LANES, tmp_path)
    rows = (ctypes.c_float * (5 * LANES))()
    assert library.run(rows) == 0
    odd = range(3, LANES, 2)
    for t in range(LANES):
        expected = [3, 11 if t == 3 else 0, sum(odd), -31, 29.5] if t in odd else [0] * 5
        assert rows[5 * t : 5 * t + 5] == expected


APPROXIMATE = r"""
#include <cuda_runtime.h>
__global__ void all(const float* in, float* out) {
  float x = in[threadIdx.x], *y = out + 4 * threadIdx.x;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y[0]) : "f"(x));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y[1]) : "f"(x));
  asm("ex2.approx.f32 %0, %1;" : "=f"(y[2]) : "f"(x));
  asm("tanh.approx.f32 %0, %1;" : "=f"(y[3]) : "f"(x));
}
extern "C" int run(const float* in, float* out) {
  float *x, *y;
  cudaMalloc(&x, 4 * 8);
  cudaMalloc(&y, 4 * 32);
  cudaMemcpy(x, in, 4 * 8, cudaMemcpyHostToDevice);
  all<<<1, 8>>>(x, y);
  cudaMemcpy(out, y, 4 * 32, cudaMemcpyDeviceToHost);
  return cudaDeviceSynchronize();
}
"""


@pytest.mark.full
def test_approximations_are_near_and_flush_where_they_say_so(tmp_path: Path) -> None:
    library = compiled(APPROXIMATE, tmp_path)
    values = [0.5, -3.25, 10.0, -130.0, 1e-40, -1e-40, 3e38, 1.0]
    given, got = (ctypes.c_float * 8)(*values), (ctypes.c_float * 32)()
    assert library.run(given, got) == 0
    for at, x in enumerate(values):
        flushed, reciprocal, plain, tanh = got[4 * at : 4 * at + 4]
        power = 2.0**x if x < 128 else math.inf
        assert plain == pytest.approx(power, rel=1e-6) and tanh == pytest.approx(math.tanh(x), rel=1e-3, abs=1e-39)
        assert flushed == (0 if power < 2.0**-126 else pytest.approx(power, rel=1e-6))
        if abs(x) < 2.0**-126:
            assert reciprocal == math.copysign(math.inf, x)
        else:
            assert reciprocal == (0 if 1 / abs(x) < 2.0**-126 else pytest.approx(1 / x, rel=1e-6))
