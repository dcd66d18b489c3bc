"""Symbols of object files get other names, and keep the old ones for other files where that is asked for."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import pytest

from musasim.base.toolchain import find_compiler
from musasim.errors import MusasimBuildError
from musasim.toolkit.compiler.object_file import ObjectFile

pytestmark = pytest.mark.once

MAIN = """
#include <stdio.h>
extern int LAST;
extern int renamed __asm__("LAST.own");
int main() { renamed = 7; printf("%d", LAST); }
"""


@pytest.mark.parametrize("count", [10, pytest.param(66000, marks=pytest.mark.full)])
def test_a_renamed_symbol_is_found_by_both_names_in_however_many_sections(count: int, tmp_path: Path) -> None:
    """From 65,280 sections on, an object file has their numbers in a table of their own."""
    last = f"d{count - 1}"
    variables = (f'.section .data.d{i},"aw"\n.weak d{i}\nd{i}: .long {i}\n' for i in range(count))
    (tmp_path / "many.s").write_text("".join(variables))
    (tmp_path / "main.c").write_text(MAIN.replace("LAST", last))
    compiler = find_compiler()
    subprocess.run([*compiler, "-c", "many.s", "-o", "many.o"], cwd=tmp_path, check=True, timeout=120)
    many = ObjectFile(tmp_path / "many.o")
    number = next(number for number, symbol in enumerate(many.symbols) if symbol.name == last)
    many.rename({number: f"{last}.own"}, [number])
    many.write(tmp_path / "many.o")
    command = [*compiler, "-x", "c", "main.c", "-x", "none", "many.o", "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    assert subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True).stdout == "7"


def test_another_file_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "text.o").write_text("no object file")
    with pytest.raises(MusasimBuildError, match=r"text\.o: expected an object file of a 64-bit"):
        ObjectFile(tmp_path / "text.o")


def test_half_an_object_file_is_not_left_for_a_build_to_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.c").write_text("int a;")
    subprocess.run([*find_compiler(), "-c", "a.c", "-o", "a.o"], cwd=tmp_path, check=True, timeout=120)
    compiled = ObjectFile(tmp_path / "a.o")

    def until_the_disk_is_full(path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[:100])
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", until_the_disk_is_full)
    with pytest.raises(OSError, match="No space left"):
        compiled.write(tmp_path / "a.o")
    assert not (tmp_path / "a.o").exists()
