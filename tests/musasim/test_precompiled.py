"""MUSASIM_PRECOMPILED_HEADERS=1: mcc keeps large headers compiled, for the next source that begins with the same ones."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from musasim.toolkit.compiler import precompiled
from musasim.toolkit.compiler.precompiled import beginning, compile_with_headers

pytestmark = pytest.mark.once

HEADERS = "#include <string>\n#include <vector>\n"
PROGRAM = "int main() { return static_cast<int>(std::vector<std::string>({ANSWER}).size()); }\n"


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers of any size are worth it, and lie in a cache of the test's own."""
    monkeypatch.setattr(precompiled, "_LEAST_CHARACTERS", 1)
    monkeypatch.setenv("MUSASIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MUSASIM_PRECOMPILED_HEADERS", "1")


def preprocessed(folder: Path, text: str, name: str) -> str:
    (folder / name).write_text(text)
    done = subprocess.run(["g++", "-E", name], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def compiled(folder: Path, text: str, *options: str, name: str = "k.cpp") -> bool:
    command = ["g++", *options, "-x", "c++-cpp-output", "-c", "-o", str(folder / "k.o")]
    return compile_with_headers(command, preprocessed(folder, text, name), name, folder)


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
def test_sources_of_any_name_share_them_even_made_ones(tmp_path: Path) -> None:
    """A ported source names the one that it was made from by #line, and lies in another folder for each extension."""
    for number in range(3):
        program = PROGRAM.replace("ANSWER", ", ".join(['"a"'] * number))
        assert compiled(tmp_path, f'#line 1 "/{number}/k.cu"\n{HEADERS}{program}', name=f"k{number}.cpp")
        assert answer(tmp_path) == number
    assert len(entries(tmp_path)) == 1


@pytest.mark.full
def test_a_warning_in_a_header_says_which_source_has_included_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "it.h").write_text("template<class T> int size(T n) { int m[4]; return m[n]; }\n")
    text = f'#line 1 "/one/k.cu"\n#include "{other}/it.h"\nint main() {{ return size(\'a\'); }}\n'
    folder = tmp_path / "sources"
    folder.mkdir()
    assert compiled(folder, text, "-Wchar-subscripts")
    printed = capfd.readouterr().err
    assert "it.h:1" in printed and "from k.cpp:1" in printed and "musasim-source" not in printed, printed


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


@pytest.mark.full
@pytest.mark.parametrize(("setting", "used"), [("0", False), ("auto", True), (None, True)])
def test_what_is_kept_is_used_until_that_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str | None, used: bool
) -> None:
    program = HEADERS + PROGRAM.replace("ANSWER", '"a"')
    assert compiled(tmp_path, program)
    kept = entries(tmp_path)
    monkeypatch.delenv("MUSASIM_PRECOMPILED_HEADERS")
    if setting is not None:
        monkeypatch.setenv("MUSASIM_PRECOMPILED_HEADERS", setting)
    assert compiled(tmp_path, program) == used
    assert not compiled(tmp_path, program, "-O2"), "those of other options are not made"
    assert entries(tmp_path) == kept


@pytest.mark.parametrize("setting", ["0", "auto", "", None])
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
    assert text[: beginning(text, "k.mu").end] == headers


def test_what_is_installed_in_the_projects_folder_is_not_its_own() -> None:
    start = [line.replace("k.mu", "/p/k.mu") for line in START]
    torch = ['# 1 "/p/.venv/lib/python3.11/site-packages/torch/include/torch/types.h" 1 3', "int torch;"]
    text = lines(*start, *torch, '# 2 "/p/k.mu" 2', "int x;")
    assert text[: beginning(text, "/p/k.mu").end] == lines(*start, *torch)


def test_they_end_where_a_made_source_begins() -> None:
    text = lines(*START, '# 1 "/p/k.cu"', *SYSTEM, '# 2 "/p/k.cu" 2', "int x;", *SYSTEM, '# 4 "/p/k.cu" 2')
    headers = lines(*START, '# 1 "/p/k.cu"', *SYSTEM)
    assert text[: beginning(text, "k.mu").end] == headers
    own = lines(*START, '# 1 "/p/k.cu"', *SYSTEM, '# 2 "/p/k.cu" 2', '# 1 "/p/own.h" 1', "int own;", '# 3 "/p/k.cu" 2')
    assert own[: beginning(own, "k.mu").end] == headers


@pytest.mark.parametrize(("main", "own"), [("k.mu", "own.h"), ("/p/k.mu", "/p/own.h"), ("csrc/k.mu", "csrc/own.h")])
def test_a_header_of_the_project_is_none_of_them(main: str, own: str) -> None:
    start = [line.replace("k.mu", main) for line in START]
    text = lines(*start, *SYSTEM, f'# 2 "{main}" 2', f'# 1 "{own}" 1', "int own;", f'# 3 "{main}" 2', "int x;")
    assert text[: beginning(text, main).end] == lines(*start, *SYSTEM)
