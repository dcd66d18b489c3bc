"""MUSASIM_PRECOMPILED_HEADERS=1: mcc keeps large headers compiled, for the next source that begins with the same ones."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from musasim.toolkit.compiler import precompiled
from musasim.toolkit.compiler.precompiled import compile_with_headers, end_of_headers

pytestmark = pytest.mark.once

HEADERS = "#include <string>\n#include <vector>\n"
PROGRAM = "int main() { return static_cast<int>(std::vector<std::string>({ANSWER}).size()); }\n"


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers of any size are worth it, and lie in a cache of the test's own."""
    monkeypatch.setattr(precompiled, "_LEAST_CHARACTERS", 1)
    monkeypatch.setenv("MUSASIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MUSASIM_PRECOMPILED_HEADERS", "1")


def preprocessed(folder: Path, text: str) -> str:
    (folder / "k.cpp").write_text(text)
    done = subprocess.run(["g++", "-E", "k.cpp"], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def compiled(folder: Path, text: str, *options: str) -> bool:
    command = ["g++", *options, "-x", "c++-cpp-output", "-c", "-o", str(folder / "k.o")]
    return compile_with_headers(command, preprocessed(folder, text), "k.cpp", folder)


def answer(folder: Path) -> int:
    subprocess.run(["g++", "k.o", "-o", "k"], cwd=folder, check=True)
    return subprocess.run([str(folder / "k")], check=False).returncode


def entries(folder: Path) -> dict[str, int]:
    return {path.name: (path / "headers.gch").stat().st_mtime_ns for path in (folder / "cache").glob("precompiled-*/")}


@pytest.mark.full
def test_two_sources_share_the_headers_that_they_begin_with(tmp_path: Path) -> None:
    assert compiled(tmp_path, HEADERS + PROGRAM.replace("ANSWER", '"a", "b"'))
    assert answer(tmp_path) == 2
    before = entries(tmp_path)
    assert len(before) == 1
    assert compiled(tmp_path, HEADERS + "\n" + PROGRAM.replace("ANSWER", '"a", "b", "c"'))
    assert answer(tmp_path) == 3
    assert entries(tmp_path) == before, "nothing was compiled anew"


@pytest.mark.full
def test_other_options_and_other_headers_are_compiled_anew(tmp_path: Path) -> None:
    program = PROGRAM.replace("ANSWER", '"a"')
    names: set[str] = set()
    for headers, option in ((HEADERS, "-O0"), (HEADERS, "-O1"), ("#include <cstdio>\n" + HEADERS, "-O1")):
        assert compiled(tmp_path, headers + program, option)
        names |= set(entries(tmp_path))
    assert len(names) == 3


@pytest.mark.full
def test_what_is_damaged_is_not_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = HEADERS + PROGRAM.replace("ANSWER", '"a"')
    assert compiled(tmp_path, program)
    stored = next((tmp_path / "cache").glob("precompiled-*/")) / "headers.gch"
    stored.write_bytes(b"damaged" + stored.read_bytes()[7:])
    assert compiled(tmp_path, program)
    assert answer(tmp_path) == 1
    assert "is rebuilt" in capfd.readouterr().err


def test_an_error_is_left_to_the_whole_text(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert not compiled(tmp_path, "#include <cstddef>\nint main() { return undeclared; }\n")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("setting", ["0", "", None])
def test_it_is_done_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str | None) -> None:
    monkeypatch.delenv("MUSASIM_PRECOMPILED_HEADERS")
    if setting is not None:
        monkeypatch.setenv("MUSASIM_PRECOMPILED_HEADERS", setting)
    assert not compiled(tmp_path, "#include <cstddef>\nint main() {}\n")
    assert entries(tmp_path) == {}


def test_a_cache_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    assert not compiled(tmp_path, "#include <cstddef>\nint main() {}\n")


def test_the_latest_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompiled, "_MOST_KEPT", 2)
    used = []
    for number in (1, 2, 1, 3):
        assert compiled(tmp_path, "#include <cstddef>\nint main() {}\n", f"-DNUMBER={number}")
        used.append(set(entries(tmp_path)))
    assert used[3] == (used[2] & used[0]) | (used[3] - used[2]), "the second was used the longest time ago"


def lines(*parts: str) -> str:
    return "\n".join(parts) + "\n"


START = ['# 0 "k.mu"', '# 0 "<built-in>"', '# 1 "/usr/include/musa_runtime.h" 1 3', "int runtime;", '# 1 "k.mu"']
SYSTEM = ['# 1 "/usr/include/big.h" 1 3 4', "int big;"]


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        (lines(*START, "", *SYSTEM, '# 2 "k.mu" 2', "", "int x;"), lines(*START, "", *SYSTEM)),
        (lines(*START, *SYSTEM, '# 2 "k.mu" 2', "int x;", *SYSTEM, '# 4 "k.mu" 2'), lines(*START, *SYSTEM)),
        (lines(*START, "int x;", *SYSTEM, '# 2 "k.mu" 2'), ""),
        (lines(*START, "int x;"), ""),
    ],
)
def test_headers_end_where_the_source_begins(text: str, headers: str) -> None:
    assert text[: end_of_headers(text, "k.mu")] == headers


@pytest.mark.parametrize(("main", "own"), [("k.mu", "own.h"), ("/p/k.mu", "/p/own.h"), ("csrc/k.mu", "csrc/own.h")])
def test_a_header_of_the_project_is_none_of_them(main: str, own: str) -> None:
    start = [line.replace("k.mu", main) for line in START]
    text = lines(*start, *SYSTEM, f'# 2 "{main}" 2', f'# 1 "{own}" 1', "int own;", f'# 3 "{main}" 2', "int x;")
    assert text[: end_of_headers(text, main)] == lines(*start, *SYSTEM)
