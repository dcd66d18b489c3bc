"""PTX that is translated gives PTX's results, with whatever operands; the rest is refused at its line."""

from __future__ import annotations

import ctypes
import random
import re
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from musasim import toolkit
from torchada.porting import UNPORTED, port_source

pytestmark = pytest.mark.once

SOURCE = r"""
#include <cuda_runtime.h>
#include <stdint.h>

__device__ __forceinline__ uint32_t load(const uint32_t* p) {
  uint32_t x;
  asm volatile("ld.global.nc.L1::no_allocate.b32 %0, [%1];" : "=r"(x) : "l"(p));
  return x;
}
#define MEMBAR() \
  asm volatile("membar.gl;" \
               ::: "memory")

// in: four words for each thread; out: sixteen.
__global__ void all(const uint32_t* in, uint32_t* out) {
  const int t = blockIdx.x * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x;
  uint32_t a, b, c, d;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b),
                 "=r"(c), "=r"(d) : "l"(in + 4 * t));
  uint32_t r[11];
  int s, lane;
  float f;
  double e;
  r[0] = load(in + 4 * t + 1);
  if (a % 2) asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r[1]) : "r"(a), "r"(b), "r"(c)); else r[1] = 7;
  asm("bfe.u32 %0, %1, %2, %3;\n\t" : "=r"(r[2]) : "r"(a), "r"(b), "r"(c));
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(s) : "r"((int)a), "r"(b), "r"(c));
  asm("{ bfi.b32 %0, %1, %2, %3, %4; }" : "=r"(r[4]) : "r"(a), "r"(d), "r"(b), "r"(c));
  asm("fma.rz.f32 %0, %1, %2, %3;" : "=f"(f) : "f"((float)a), "f"((float)b), "f"((float)c));
  asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(e) : "d"((double)a), "d"((double)b), "d"((double)c));
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  MEMBAR();
  asm volatile("nanosleep.u32 %0;" :: "n"(20));
  r[3] = s;
  r[5] = __float_as_uint(f);
  r[6] = lane;
  asm("prmt.b32 %0, %1, %2, 0x3021;" : "=r"(r[7]) : "r"(a), "r"(b));
  r[8] = __double2hiint(e);
  r[9] = __double2loint(e);
  for (int i = 0; i < 10; ++i) asm volatile("st.global.cs.u32 [%0], %1;" :: "l"(out + 16 * t + i), "r"(r[i]) : "memory");
  asm volatile("st.global.v2.f32 [%0], {%1, %2};" :: "l"(out + 16 * t + 10), "f"(1.5f), "f"(-2.0f));
}

extern "C" int run(const uint32_t* in, uint32_t* out, int blocks) {
  uint32_t *x, *y;
  const size_t size = blocks * 64 * sizeof(uint32_t);
  cudaMalloc(&x, 4 * size);
  cudaMalloc(&y, 16 * size);
  cudaMemcpy(x, in, 4 * size, cudaMemcpyHostToDevice);
  all<<<blocks, dim3(16, 4)>>>(x, y);
  cudaMemcpy(out, y, 16 * size, cudaMemcpyDeviceToHost);
  return cudaDeviceSynchronize();
}
"""
BLOCKS = 32


def bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def permuted(a: int, b: int, selector: int) -> int:
    source = (b << 32 | a).to_bytes(8, "little")
    taken = []
    for at in range(4):
        nibble = selector >> 4 * at & 15
        byte = source[nibble & 7]
        taken.append((255 if byte & 128 else 0) if nibble & 8 else byte)
    return int.from_bytes(bytes(taken), "little")


def field(a: int, position: int, length: int, is_signed: bool) -> int:
    """As the PTX manual's pseudocode has it."""
    position, length = position & 255, length & 255
    sign = a >> min(position + length - 1, 31) & 1 if is_signed and length else 0
    return sum((a >> at + position & 1 if at < length and at + position <= 31 else sign) << at for at in range(32))


def inserted(a: int, b: int, position: int, length: int) -> int:
    position, length = position & 255, length & 255
    for at in range(length):
        if position + at <= 31:
            b = b & ~(1 << position + at) | (a >> at & 1) << position + at
    return b


def towards_zero(exact: int) -> float:
    """The single-precision number next to a whole number that is not negative, towards zero."""
    return float(exact >> max(exact.bit_length() - 24, 0) << max(exact.bit_length() - 24, 0))


EXPECTED: dict[int, Callable[[int, int, int, int], int]] = {
    0: lambda a, b, c, d: b,
    1: lambda a, b, c, d: permuted(a, b, c) if a % 2 else 7,
    2: lambda a, b, c, d: field(a, b, c, False),
    3: lambda a, b, c, d: field(a, b, c, True),
    4: lambda a, b, c, d: inserted(a, d, b, c),
    5: lambda a, b, c, d: bits(towards_zero(single(a) * single(b) + single(c))),
    7: lambda a, b, c, d: permuted(a, b, 0x3021),
    8: lambda a, b, c, d: struct.unpack("<II", struct.pack("<d", float(a * b + c)))[1],
    9: lambda a, b, c, d: struct.unpack("<II", struct.pack("<d", float(a * b + c)))[0],
    10: lambda a, b, c, d: bits(1.5),
    11: lambda a, b, c, d: bits(-2.0),
}


def single(value: int) -> int:
    return int(struct.unpack("<f", struct.pack("<f", float(value)))[0])


@pytest.mark.full
def test_what_is_translated_gives_ptx_results(tmp_path: Path) -> None:
    result = port_source(SOURCE.encode())
    assert not result.findings and b"asm" not in result.text
    assert result.text.count(b"\n") == SOURCE.count("\n")
    (tmp_path / "all.mu").write_bytes(result.text)
    library = tmp_path / "all.so"
    command = [
        toolkit.home() / "bin" / "mcc",
        "-O1",
        "-shared",
        "-fPIC",
        tmp_path / "all.mu",
        "-o",
        library,
        "-lmusart",
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    random.seed(0)
    small = [0, 1, 7, 8, 31, 32, 33, 255, 256]
    words = [random.choice((random.getrandbits(32), random.choice(small))) for _ in range(BLOCKS * 64 * 4)]
    given, got = (ctypes.c_uint32 * len(words))(*words), (ctypes.c_uint32 * (len(words) * 4))()
    assert ctypes.CDLL(str(library)).run(given, got, BLOCKS) == 0
    for thread in range(BLOCKS * 64):
        operands = words[4 * thread : 4 * thread + 4]
        assert got[16 * thread + 6] == thread % 64 % 32
        for at, expected in EXPECTED.items():
            assert got[16 * thread + at] == expected(*operands), (at, [hex(each) for each in operands])


@pytest.mark.parametrize(
    "statement",
    [
        'asm("fma.rn.ftz.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(c));',
        'asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(c));',
        'asm("ld.shared.u32 %0, [%1];" : "=r"(r) : "h"(a));',
        'asm("ld.global.u32 %0, [%1+b];" : "=r"(r) : "l"(a));',
        'asm("ld.acquire.cluster.global.u32 %0, [%1];" : "=r"(r) : "l"(a));',
        'asm("ld.acquire.global.u32 %0, [%1];" : "=r"(r) : "l"(a));',
        'asm("st.acquire.gpu.global.u32 [%0], %1;" :: "l"(a), "r"(b));',
        'asm("ld.mmio.relaxed.sys.global.u32 %0, [%1];" : "=r"(r) : "l"(a));',
        'asm("atom.shared.add.noftz.f16x2 %0, [%1], %2;" : "=r"(r) : "r"(a), "r"(b));',
        'asm("red.global.add.f16x2 [%0], %1;" :: "l"(a), "r"(b));',
        'asm("ld.global.u32 %0, [%1];" : "=f"(r) : "l"(a));',
        'asm("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(r) : "l"(a));',
        'asm("bfe.u32 %0, %1, %2, %3;" : "*r"(r) : "r"(a), "r"(b), "r"(c));',
        'asm("bfe.u64 %0, %1, %2, %3;" : "=l"(r) : "l"(a), "r"(b), "r"(c));',
        'asm("mov.u32 %0, %%smid;" : "=r"(r));',
        'asm("membar.gl; bar.sync 1, 64;");',
        'asm("{ .reg .pred p; setp.ne.f32 p, %1, %2; selp.b32 %0, 1, 0, p; }" : "=r"(r) : "f"(a), "f"(b));',
        'asm("{ .reg .pred p; .reg .pred p; setp.ne.u32 p, %1, 0; selp.b32 %0, 1, 0, p; }" : "=r"(r) : "r"(a));',
        'asm("{ L: bra.uni L; }" ::: "memory");',
        'asm("mov.u32 %0, 1; // one" : "=r"(r));',
        'asm("mov.u32 %1, 1;" : "=r"(r) : "r"(a));',
        'asm("cp.async.ca.shared.global [%0], [%1], 12;" :: "r"(a), "l"(b));',
        'asm("shfl.sync.bfly.b32 %0, %1, 1, 0x101f, -1;" : "=r"(r) : "r"(a));',
        'asm("cvt.rn.satfinite.e2m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(a), "f"(b));',
        'asm("membar.gl;" : [x] "=r"(r));',
        'asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));',
        'asm("bar.sync 1, 64;");',
        'asm("@p membar.gl;");',
        'asm("add.f32x2 %0, %1, %2;" : "=r"(r) : "l"(a), "l"(b));',
        'asm("add.u32 %0, %1, %2;" : "=f"(r) : "r"(a), "r"(b));',
        'asm("st.global.u32 [%0], %1;" :: "l"(a), "f"(b));',
    ],
)
def test_everything_else_is_refused_where_it_stands(statement: str) -> None:
    source = f"void f() {{\n  {statement}\n}}\n"
    result = port_source(source.encode())
    assert result.text.decode() == source
    assert [(each.kind, each.line) for each in result.findings] == [(UNPORTED, 2)]


@pytest.mark.parametrize(
    ("first", "second", "end"),
    [
        ('"ld.global.L2::128B.u32 %0, [%1];" : "=r"(r)', '"ld.global.u32 %0, [%1];" : "=r"(r)', ': "l"(p));'),
        ('"@q ld.global.ca.u32 %0, [%1]; }"', '"@q ld.global.u32 %0, [%1]; }"', ': "=r"(r) : "l"(p), "r"(n));'),
    ],
)
def test_branches_of_the_preprocessor_that_say_the_same_are_translated_as_one(
    first: str, second: str, end: str
) -> None:
    begin = 'asm volatile("{ .reg .pred q; setp.ne.u32 q, %2, 0;"\n' if "@q" in first else "asm volatile(\n"
    plain = port_source(f"__device__ f();\n{begin}{second}\n{end}\n".encode())
    chosen = port_source(
        f"__device__ f();\n{begin}#if PREFETCH\n  {first}\n# else\n  {second}\n#endif\n  {end}\n".encode()
    )
    assert not plain.findings and not chosen.findings
    assert chosen.text.count(b"\n") == 8 and chosen.text.split() == plain.text.split()


@pytest.mark.parametrize(
    "branches",
    [
        '#if A\n"ld.global.u32 %0, [%1];"\n#else\n"ld.global.u32 %0, [%1+4];"\n#endif\n',
        '#if A\n"ld.global.u32 %0, [%1];"\n#endif\n',
        '#if A\n#if B\n"ld.global.u32 %0, [%1];"\n#endif\n#endif\n',
    ],
)
def test_branches_of_the_preprocessor_that_differ_are_refused(branches: str) -> None:
    source = f'__device__ int r;\nasm volatile(\n{branches} : "=r"(r) : "l"(p));\n'
    result = port_source(source.encode())
    assert result.text.decode() == source and [each.kind for each in result.findings] == [UNPORTED]


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ('asm("mov.u32 %0, 1;" : "=r"(r) // %0, the result\n : /* none */);', 'asm("mov.u32 %0, 1;" : "=r"(r)\n :);'),
        (
            'asm("{ .reg .b32 %%a; mov.b32 %%a, 1; mov.b32 %0, %%a; }" : "=r"(r));',
            'asm("{ .reg .b32 a; mov.b32 a, 1; mov.b32 %0, a; }" : "=r"(r));',
        ),
        (
            'asm("{.reg.pred p; setp.ne.b32 p, %0, 0; @p trap;}" :: "r"(r));',
            'asm("{.reg .pred p; setp.ne.b32 p, %0, 0; @p trap;}" :: "r"(r));',
        ),
    ],
)
def test_blanks_comments_and_signs_of_names_change_nothing(written: str, plain: str) -> None:
    made, expected = (port_source(f"__device__ f();\n{each}\n".encode()) for each in (written, plain))
    assert not made.findings and not expected.findings
    assert made.text.split() == expected.text.split() and b"asm" not in made.text


def test_a_condition_of_several_lines_chooses_between_branches_too() -> None:
    first, second = '"ld.global.L2::128B.u32 %0, [%1];"', '"ld.global.u32 %0, [%1];"'
    source = f'__device__ f();\nasm(\n#if A && \\\n    B\n{first}\n#else\n{second}\n#endif\n: "=r"(r) : "l"(p));\n'
    made = port_source(source.encode())
    assert not made.findings and b"asm" not in made.text and made.text.count(b"\n") == source.count("\n")


def test_names_in_operands_are_translated_and_reported() -> None:
    source = 'f();\nasm("nanosleep.u32 %0;" ::\n "r"(cudaMin(cudaFree, cudaGraphAddNode)));'
    result = port_source(source.encode())
    assert re.sub(rb"\s+$", b"", result.text) == b"f();\n__nanosleep((cudaMin(musaFree, cudaGraphAddNode)))\n;"
    assert [each.name for each in result.unported] == ["cudaGraphAddNode"]
