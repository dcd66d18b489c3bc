"""PTX's instructions on parts of integers, and its conversions, give what the PTX manual's pseudocode says."""

from __future__ import annotations

import ctypes
import math
import random
import struct
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from musasim import toolkit
from torchada.porting import UNPORTED, port_source

pytestmark = pytest.mark.once

WORDS = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F00]
FLOATS = [0.0, -0.4, 0.5, 1.5, 2.5, -2.5, 254.5, 255.5, 300.0, -1e10, 1e10, 1e30, -1e30, math.inf, -math.inf, math.nan]
Reference = Callable[[int, int, int], int]


def taken(word: int, part: str, is_signed: bool) -> int:
    """A byte, a half or the whole of a word, extended."""
    width = {"": 32, "h": 16, "b": 8}[part[:1]]
    value = word >> (int(part[1:]) * width if part else 0) & (1 << width) - 1
    return value - (1 << width) if is_signed and value >> (width - 1) else value


def clamped(value: int, width: int, is_signed: bool) -> int:
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if is_signed else (0, (1 << width) - 1)
    return min(max(value, low), high)


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
}
SECOND: dict[str, Callable[[int, int], int]] = {"add": lambda t, c: t + c, "min": min, "max": max}


def video(operation: str, kinds: str, parts: tuple[str, str, str], sat: bool, second: str) -> tuple[str, Reference]:
    """An instruction with its operands, and what it gives; `kinds` are of the result and of the two sources."""
    d, a, b = (f".{part}" if part else "" for part in parts)
    name = ".".join([operation, *(f"{kind}32" for kind in kinds), *["sat"] * sat, *([second] if second else [])])
    text = f"{name} %0{d}, %1{a}, %2{b}" + (", %3;" if second or d else ";")

    def reference(x: int, y: int, z: int) -> int:
        value = OPERATIONS[operation](taken(x, parts[1], kinds[1] == "s"), taken(y, parts[2], kinds[2] == "s"))
        width = {"": 32, "h": 16, "b": 8}[parts[0][:1]]
        value = clamped(value, width, kinds[0] == "s") if sat else value
        if second:
            value = SECOND[second](value, taken(z, "", kinds[0] == "s"))
        if not parts[0]:
            return value & 0xFFFFFFFF
        mask, shift = (1 << width) - 1, int(parts[0][1:]) * width
        return z & ~(mask << shift) & 0xFFFFFFFF | (value & mask) << shift

    return text, reference


def signed(word: int) -> int:
    return taken(word, "", True)


COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def comparison(name: str, kind: str) -> tuple[str, Reference]:
    read = signed if kind == "s" else int
    return (
        f"set.{name}.u32.{kind}32 %0, %1, %2;",
        lambda a, b, _: 0xFFFFFFFF if COMPARED[name](read(a), read(b)) else 0,
    )


def shift(
    name: str, mode: str, kinds: str, parts: tuple[str, str], sat: str = "", second: str = ""
) -> tuple[str, Reference]:
    """A shift of the video instructions, and what it gives; the number of bits is not signed."""
    a, b = (f".{part}" if part else "" for part in parts)
    modifiers = "".join([*(f".{kind}32" for kind in f"{kinds}u"), sat, f".{mode}", second])

    def reference(x: int, y: int, z: int) -> int:
        bits = taken(y, parts[1], False)
        bits = min(bits, 32) if mode == "clamp" else bits & 31
        number = taken(x, parts[0], kinds[1] == "s")
        value = number << bits if name == "vshl" else number >> bits
        value = clamped(value, 32, kinds[0] == "s") if sat else value
        return (value + z if second else value) & 0xFFFFFFFF

    return f"{name}{modifiers} %0, %1{a}, %2{b}" + (", %3;" if second else ";"), reference


ON_INTEGERS: list[tuple[str, Reference]] = [
    *(
        video(name, "".join(kinds), ("", a, b), sat, "")
        for name, kinds, (a, b), sat in product(
            OPERATIONS, product("us", repeat=3), [("", ""), ("b0", "h1"), ("b3", "")], (False, True)
        )
    ),
    *(
        video(name, kinds, (d, "", "b1"), sat, "")
        for name, kinds, d, sat in product(OPERATIONS, ("uuu", "sss", "uss"), ("b0", "b2", "h1"), (False, True))
    ),
    *(
        video(name, kinds, ("", "", ""), True, second)
        for name, kinds, second in product(OPERATIONS, ("uss", "suu"), SECOND)
    ),
    *(
        video(name, kind, ("", "", "b2"), False, second)
        for name, kind, second in product(("vmin", "vmax"), ("uuu", "sss"), SECOND)
    ),
    video("vadd", "uuu", ("", "", ""), False, "add"),
    *(
        shift(name, mode, kinds, parts, "", second)
        for name, mode, kinds, parts, second in product(
            ("vshl", "vshr"), ("clamp", "wrap"), ("uu", "ss"), [("", ""), ("h1", "b0")], ("", ".add")
        )
    ),
    shift("vshr", "clamp", "us", ("", "b0"), ".sat"),
    shift("vshr", "wrap", "su", ("", ""), ".sat"),
    ("vmad.u32.u32.u32 %0, %1.b2, %2, %3;", lambda a, b, c: ((a >> 16 & 255) * b + c) & 0xFFFFFFFF),
    (
        "vmad.s32.s32.s32 %0, %1.h1, %2.b3, %3;",
        lambda a, b, c: (taken(a, "h1", True) * taken(b, "b3", True) + c) & 0xFFFFFFFF,
    ),
    ("slct.u32.s32 %0, %1, %2, %3;", lambda a, b, c: a if signed(c) >= 0 else b),
    ("slct.s32.s32 %0, 7, %2, %3;", lambda a, b, c: 7 if signed(c) >= 0 else b),
    *(comparison(name, kind) for name, kind in product(COMPARED, "us")),
    ("bfind.u32 %0, %1;", lambda a, b, c: (a.bit_length() - 1) & 0xFFFFFFFF),
    ("cvt.s16.u32 %0, %1;", lambda a, b, c: taken(a, "h0", True) & 0xFFFFFFFF),
    ("cvt.u8.s32 %0, %1;", lambda a, b, c: a & 255),
    *((f"mov.u32 %0, %lanemask_{name};", lambda a, b, c: 0) for name in ("lt", "le", "eq", "gt", "ge")),
]
ROUNDED: dict[str, Callable[[float], int]] = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
ON_FLOATS = [
    (f"cvt.{rounding}{sat}.{kind}.f32 %0, %1;", rounding, kind)
    for rounding, sat, kind in product(ROUNDED, ("", ".sat"), ("s32", "u32", "u8"))
]


def converted(value: float, rounding: str, kind: str) -> int:
    is_signed, width = kind[0] == "s", int(kind[1:])
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return clamped(int(math.copysign(1 << 64, value)), width, is_signed) & 0xFFFFFFFF
    return clamped(ROUNDED[rounding](value), width, is_signed) & 0xFFFFFFFF


def source() -> str:
    """A kernel whose thread n has the nth operands, and writes a word for each instruction."""
    count = len(ON_INTEGERS) + len(ON_FLOATS)
    integers = [
        f'{{ unsigned r; asm("{text}" : "=r"(r) : "r"(a), "r"(b), "r"(c)); out[{at}] = r; }}'
        for at, (text, _) in enumerate(ON_INTEGERS)
    ]
    floats = [
        f'{{ int r; asm("{text}" : "=r"(r) : "f"(f)); out[{at}] = r; }}'
        for at, (text, _, _) in enumerate(ON_FLOATS, len(ON_INTEGERS))
    ]
    lines = "\n".join([*integers, *floats])
    return f"""
#include <cuda_runtime.h>
__global__ void all(const unsigned* in, unsigned* out) {{
  const int t = threadIdx.x;
  const unsigned a = in[4 * t], b = in[4 * t + 1], c = in[4 * t + 2];
  const float f = __uint_as_float(in[4 * t + 3]);
  out += t * {count};
  {lines}
}}
extern "C" int run(const unsigned* in, unsigned* out) {{
  unsigned *x, *y;
  cudaMalloc(&x, 128 * 4 * 4);
  cudaMalloc(&y, 128 * {count} * 4);
  cudaMemcpy(x, in, 128 * 4 * 4, cudaMemcpyHostToDevice);
  all<<<1, 128>>>(x, y);
  cudaMemcpy(out, y, 128 * {count} * 4, cudaMemcpyDeviceToHost);
  return cudaDeviceSynchronize();
}}
"""


def lanes(name: str, lane: int) -> int:
    return {
        "lt": (1 << lane) - 1,
        "le": (2 << lane) - 1,
        "eq": 1 << lane,
        "gt": ~((2 << lane) - 1) & 0xFFFFFFFF,
        "ge": ~((1 << lane) - 1) & 0xFFFFFFFF,
    }[name]


def single(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


@pytest.mark.full
def test_every_instruction_gives_what_the_manual_says(tmp_path: Path) -> None:
    ported = port_source(source().encode())
    assert not ported.findings and b"asm" not in ported.text
    (tmp_path / "all.mu").write_bytes(ported.text)
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
    operands = [[random.choice((random.getrandbits(32), random.choice(WORDS))) for _ in range(3)] for _ in range(128)]
    floats = [
        FLOATS[at % len(FLOATS)] if at < 64 else struct.unpack("<f", struct.pack("<f", random.uniform(-400, 400)))[0]
        for at in range(128)
    ]
    count = len(ON_INTEGERS) + len(ON_FLOATS)
    given = (ctypes.c_uint32 * 512)(*(word for row, number in zip(operands, floats) for word in (*row, single(number))))
    got = (ctypes.c_uint32 * (128 * count))()
    assert ctypes.CDLL(str(library)).run(given, got) == 0
    for thread, (row, number) in enumerate(zip(operands, floats)):
        for at, (text, reference) in enumerate(ON_INTEGERS):
            expected = lanes(text[-3:-1], thread % 32) if "lanemask" in text else reference(*row)
            assert got[thread * count + at] == expected, (text, [hex(each) for each in row])
        for at, (text, rounding, kind) in enumerate(ON_FLOATS, len(ON_INTEGERS)):
            assert got[thread * count + at] == converted(number, rounding, kind), (text, number)


@pytest.mark.parametrize(
    "instruction",
    [
        "vadd.u32.u32 %0, %1, %2;",
        "vadd.u32.u32.u32 %0, %1, %2, %3;",
        "vadd.u32.u32.u32.min %0, %1, %2, %3;",
        "vmax.u32.s32.s32.min %0, %1, %2, %3;",
        "vadd.u32.u32.u32.add %0.b0, %1, %2, %3;",
        "vadd.u32.u32.u32 %0.b4, %1, %2, %3;",
        "vadd.u32.u32.u32.sat.sat %0, %1, %2;",
        "vmad.u32.u32.u32.sat %0, %1, %2, %3;",
        "vmad.u32.u32.u32.po %0, %1, %2, %3;",
        "vshl.u32.u32.u32 %0, %1, %2;",
        "vshl.u32.u32.u32.sat.clamp %0, %1, %2;",
        "vshr.u32.u32.s32.clamp %0, %1, %2;",
        "vadd2.u32.u32.u32 %0, %1, %2, %3;",
        "set.ge.and.u32.s32 %0, %1, %2, p;",
        "set.lo.u32.u32 %0, %1, %2;",
        "slct.ftz.u32.f32 %0, %1, %2, %3;",
        "bfind.shiftamt.u32 %0, %1;",
        "cvt.rni.ftz.s32.f32 %0, %1;",
        "mov.u32 %0, %lanemask_xx;",
    ],
)
def test_everything_else_is_refused_where_it_stands(instruction: str) -> None:
    text = f'void f() {{\n  asm("{instruction}" : "=r"(r) : "r"(a), "r"(b), "r"(c));\n}}\n'
    result = port_source(text.encode())
    assert result.text.decode() == text
    assert [(each.kind, each.line) for each in result.findings] == [(UNPORTED, 2)]
