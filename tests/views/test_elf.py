"""The needed libraries of ELF files are read without tools; a damaged file has none."""

from __future__ import annotations

import random
import struct
import sys
from pathlib import Path

import pytest

from torchada.views import elf

pytestmark = pytest.mark.once


def library(needed: list[str], *, is_64: bool, order: str) -> bytes:
    """An ELF file with a dynamic section and nothing else, at an address that differs from its offset."""
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in needed)
    head, segment = (64, 56) if is_64 else (52, 32)
    start = head + 2 * segment
    entries = [(1, strings.index(name.encode() + b"\0")) for name in needed] + [(5, 0x1000 + start), (0, 0), (1, 1)]
    dynamic = b"".join(struct.pack(order + ("qQ" if is_64 else "iI"), *entry) for entry in entries)
    size = start + len(strings) + len(dynamic)
    rows = ((1, 0, 0x1000, size), (2, start + len(strings), 0, len(dynamic)))
    ident = b"\x7fELF" + bytes([2 if is_64 else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    form = "HHIQQQIHHHHHH" if is_64 else "HHIIIIIHHHHHH"
    header = ident + struct.pack(order + form, 3, 62, 1, 0, head, 0, 0, head, segment, 2, 0, 0, 0)
    table = b"".join(
        struct.pack(order + "IIQQQQQQ", kind, 0, offset, address, 0, length, length, 8)
        if is_64
        else struct.pack(order + "IIIIIIII", kind, offset, address, 0, length, length, 0, 4)
        for kind, offset, address, length in rows
    )
    return header + table + strings + dynamic


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("is_64", [True, False])
def test_the_needed_libraries_are_read(tmp_path: Path, is_64: bool, order: str) -> None:
    names = ["libcudart.so.12", "libc.so.6"]
    (tmp_path / "a.so").write_bytes(library(names, is_64=is_64, order=order))
    assert elf.needed(tmp_path / "a.so") == names


def test_this_interpreters_own_libraries_are_read() -> None:
    assert any(name.startswith("libc.") for name in elf.needed(sys.executable))


def test_a_file_that_is_no_library_needs_none(tmp_path: Path) -> None:
    for content in (b"", b"\x7fELF", b"#!/bin/sh\n", b"\x7fELF\x09" + bytes(100)):
        (tmp_path / "a.so").write_bytes(content)
        assert elf.needed(tmp_path / "a.so") == []


def test_a_damaged_file_raises_nothing(tmp_path: Path) -> None:
    whole, file, chance = library(["libcuda.so.1"] * 3, is_64=True, order="<"), tmp_path / "a.so", random.Random(1)
    for _ in range(300):
        damaged = bytearray(whole[: chance.randrange(5, len(whole) + 1)])
        for _ in range(4):
            damaged[chance.randrange(4, len(damaged))] = chance.randrange(256)
        file.write_bytes(damaged)
        assert isinstance(elf.needed(file), list)
