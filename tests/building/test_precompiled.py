"""TORCHADA_PRECOMPILED_HEADERS=1: a source that begins with <torch/extension.h> gets it compiled, if it would read the same."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from torchada.building import precompiled
from torchada.building.ninja import with_program

pytestmark = pytest.mark.once

SOURCE = '#line 1 "main.cpp"\n// the bindings\n#include <torch/extension.h>\nint main() { return answer() + NUMBER; }\n'


@pytest.fixture
def include(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """PyTorch's headers: one, which includes another."""
    monkeypatch.setenv("TORCHADA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TORCHADA_PRECOMPILED_HEADERS", "1")
    folder = tmp_path / "include"
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "extension.h").write_text("#pragma once\n#include <torch/answer.h>\n")
    (folder / "torch" / "answer.h").write_text("#pragma once\ninline int answer() { return 40; }\n")
    (tmp_path / "main.cpp").write_text(SOURCE)
    return folder


def command(include: Path, *more: str) -> list[str]:
    folder = include.parent
    files = ["-MMD", "-MF", str(folder / "main.o.d"), "-c", str(folder / "main.cpp"), "-o", str(folder / "main.o")]
    return ["g++", "-DTORCH_EXTENSION_NAME=one", "-DNUMBER=2", *more, "-isystem", str(include), *files]


def answer(include: Path, header: str | None, *more: str) -> int:
    """Compile with the header, which GCC has to take, and run."""
    assert header is not None
    words = command(include, *more)
    done = subprocess.run([words[0], "-H", "-I", header, *words[1:]], capture_output=True, text=True, check=True)
    assert f"! {header}/torch/extension.h.gch" in done.stderr, "GCC has refused the compiled header"
    program = include.parent / "main"
    subprocess.run(["g++", str(include.parent / "main.o"), "-o", str(program)], check=True)
    return subprocess.run([str(program)], check=False).returncode


def test_the_header_is_compiled_once_for_all_extensions(include: Path) -> None:
    header = precompiled.compiled(command(include))
    assert answer(include, header) == 42
    other = [word.replace("NAME=one", "NAME=two") for word in command(include)]
    before = (Path(str(header)) / "torch" / "extension.h.gch").stat().st_mtime_ns
    assert precompiled.compiled(other) == header
    assert (Path(str(header)) / "torch" / "extension.h.gch").stat().st_mtime_ns == before


def test_other_options_have_another(include: Path) -> None:
    plain = precompiled.compiled(command(include))
    for more in (["-O2"], ["-DOTHER=1"], ["-std=c++20"]):
        assert precompiled.compiled(command(include, *more)) not in (None, plain)


@pytest.mark.parametrize("setting", ["auto", None])
def test_without_being_asked_what_is_kept_is_used(
    include: Path, monkeypatch: pytest.MonkeyPatch, setting: str | None
) -> None:
    header = precompiled.compiled(command(include))
    monkeypatch.delenv("TORCHADA_PRECOMPILED_HEADERS")
    if setting is not None:
        monkeypatch.setenv("TORCHADA_PRECOMPILED_HEADERS", setting)
    assert answer(include, precompiled.compiled(command(include))) == 42
    assert precompiled.compiled(command(include)) == header
    assert precompiled.compiled(command(include, "-O2")) is None, "another is not made"
    (include / "torch" / "answer.h").write_text("#pragma once\ninline int answer() { return 50; }\n")
    assert precompiled.compiled(command(include)) is None, "nor one whose files have changed"


def test_a_header_that_has_changed_is_compiled_anew(include: Path) -> None:
    precompiled.compiled(command(include))
    (include / "torch" / "answer.h").write_text("#pragma once\ninline int answer() { return 50; }\n")
    assert answer(include, precompiled.compiled(command(include))) == 52


def test_a_header_of_the_projects_in_its_place_counts(include: Path) -> None:
    own = include.parent / "own"
    (own / "torch").mkdir(parents=True)
    more = ["-I", str(own)]
    assert answer(include, precompiled.compiled(command(include, *more)), *more) == 42
    (own / "torch" / "answer.h").write_text("#pragma once\ninline int answer() { return 10; }\n")
    assert answer(include, precompiled.compiled(command(include, *more)), *more) == 12


def test_one_in_a_folder_of_the_compilers_variable_counts(include: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CPATH is searched before PyTorch's folder, which is a system's."""
    own = include.parent / "own"
    (own / "torch").mkdir(parents=True)
    monkeypatch.setenv("CPATH", str(own))
    assert answer(include, precompiled.compiled(command(include))) == 42
    (own / "torch" / "answer.h").write_text("#pragma once\ninline int answer() { return 10; }\n")
    assert answer(include, precompiled.compiled(command(include))) == 12


@pytest.mark.parametrize("text", ["int x;\n" + SOURCE, "#include <vector>\n" + SOURCE, "int main() {}\n"])
def test_a_source_that_begins_otherwise_is_left_alone(include: Path, text: str) -> None:
    (include.parent / "main.cpp").write_text(text)
    assert precompiled.compiled(command(include)) is None


def test_another_compiler_is_left_alone(include: Path, tmp_path: Path) -> None:
    clang = tmp_path / "clang++"
    clang.write_text("#!/bin/sh\n")
    clang.chmod(0o755)
    assert precompiled.compiled([str(clang), *command(include)[1:]]) is None


@pytest.mark.parametrize("fault", ["cache", "header", "damaged"])
def test_a_fault_is_left_to_the_plain_header(include: Path, tmp_path: Path, fault: str) -> None:
    if fault == "cache":
        (tmp_path / "cache").write_text("no folder")
    elif fault == "header":
        (include / "torch" / "extension.h").write_text("#error it is broken\n")
    else:
        header = precompiled.compiled(command(include))
        (Path(str(header)) / "torch" / "extension.h.gch").write_bytes(b"damaged")
        assert answer(include, precompiled.compiled(command(include))) == 42
        return
    assert precompiled.compiled(command(include)) is None


def test_the_latest_are_kept(include: Path) -> None:
    headers = [precompiled.compiled(command(include, f"-DNUMBER{n}=1")) for n in range(4)]
    assert [header is not None and os.path.isdir(header) for header in headers] == [False, False, True, True]


def test_ninja_starts_the_program_before_the_compiler_of_cpp_sources_alone() -> None:
    text = "rule compile\n  command = $cxx -MMD\n\nrule link\n  command = $cxx $in\n"
    assert with_program(text, "/a b/$with") == (
        "rule compile\n  command = '/a b/$$with' $cxx -MMD\n\nrule link\n  command = $cxx $in\n"
    )
