"""CUDA 12's integer functions on sums, minima and maxima are what C++ says, with CUDA's results."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchada.porting import port_source
from torchada.porting.dpx import FUNCTIONS

pytestmark = pytest.mark.once

VALUES = (0, 1, 7, 0x7FFF, 0x8000, 0xFFFF, 0x12345678, 0x7FFFFFFF, 0x80000000, 0xFFFF0001, 0xFFFFFFFF)
TRIPLES = list(itertools.product(VALUES, VALUES[::2], VALUES[1::3]))


def number(bits: int, width: int, signed: bool) -> int:
    """The low bits of a word as a number."""
    value = bits & (1 << width) - 1
    return value - (1 << width) if signed and value >> (width - 1) else value


def expected(name: str, words: tuple[int, int, int]) -> tuple[int, list[bool]]:
    """As CUDA's manual describes it: the word, and the predicates of its parts, the highest first."""
    operation, kind, *relu = name.removeprefix("__vi").split("_")
    width, signed = (16 if kind.endswith("x2") else 32), kind.startswith("s")
    best = max if "max" in operation else min
    result, predicates = 0, []
    for at in range(32 - width, -1, -width):
        x, y, z = (number(word >> at, width, signed) for word in words)
        if operation.startswith("add"):
            value = best(number(x + y, width, signed), z)
        else:
            value = best(x, y, z) if operation.endswith("3") else best(x, y)
        predicates.append(x >= y if best is max else x <= y)
        value = max(value, 0) if relu else value
        result |= (value & (1 << width) - 1) << at
    return result, predicates


def call(name: str) -> str:
    if "__vib" not in name:
        is_of_three = name.startswith(("__viadd", "__vimax3", "__vimin3"))
        return f"print({name}(a, b{', c' if is_of_three else ''}), 0, 0);"
    predicates = "&high, &low" if name.endswith("x2") else "&low"
    return f"{{ bool high = false, low = false; unsigned r = {name}(a, b, {predicates}); print(r, high, low); }}"


def lines() -> Iterator[str]:
    for name, words in itertools.product(sorted(FUNCTIONS), TRIPLES):
        result, predicates = expected(name, words)
        high, low = ([False, *predicates][-2:]) if "__vib" in name else (False, False)
        yield f"{result:x} {high:d}{low:d}"


def test_every_function_gives_cudas_results(tmp_path: Path) -> None:
    rows = ", ".join(f"{{{a}u, {b}u, {c}u}}" for a, b, c in TRIPLES)
    loops = "\n".join(
        f"for (auto& t : rows) {{ unsigned a = t[0], b = t[1], c = t[2]; {call(name)} }}" for name in sorted(FUNCTIONS)
    )
    source = f"""#include <cstdio>
void print(unsigned r, bool high, bool low) {{ printf("%x %d%d\\n", r, high, low); }}
int main() {{ const unsigned rows[][3] = {{{rows}}};
{loops} (void)rows; }}
"""
    ported = port_source(source.encode())
    assert b"__vi" not in ported.text and not ported.findings
    (tmp_path / "program.cpp").write_bytes(ported.text)
    command = ["g++", "-std=c++17", "-fsanitize=undefined", "-fno-sanitize-recover", "program.cpp", "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
    printed = subprocess.run([tmp_path / "program"], capture_output=True, text=True, timeout=60, check=True).stdout
    assert printed.splitlines() == list(lines())


@pytest.mark.parametrize(
    "source",
    [
        b"__device__ int __viaddmin_s32(int a, int b, int c) { return min(a + b, c); } int x = __viaddmin_s32(1, 2, 3);",
        b"auto f = &__vimax3_s32;",
        b"x = __vimore(1) + my__vimax3_s32(1, 2, 3);",
    ],
)
def test_what_is_no_call_of_cudas_stays(source: bytes) -> None:
    assert port_source(source).text == source
