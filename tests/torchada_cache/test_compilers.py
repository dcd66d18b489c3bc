"""Finding the host's compiler, and what its run leaves to be said."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from _torchada_cache import compilers


def test_cxx_may_carry_options() -> None:
    assert compilers.find_cxx(f"{shlex.quote(sys.executable)} -x c++") == [sys.executable, "-x", "c++"]


def test_a_compiler_that_does_not_exist_is_not_replaced_by_another() -> None:
    assert compilers.find_cxx("/no/such/compiler -O0") is None
    assert compilers.looked_for("/no/such/compiler -O0") == "CXX=/no/such/compiler -O0"


def test_a_quote_that_nothing_closes_names_no_compiler() -> None:
    assert compilers.find_cxx("g++ '-O0") is None


def test_the_usual_names_are_tried_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compilers.find_cxx("") is None
    assert compilers.looked_for("") == "c++, g++ or clang++"
    for name in ("clang++", "g++"):
        (tmp_path / name).touch(mode=0o755)
        assert compilers.find_cxx("") == [str(tmp_path / name)]


def test_another_compiler_at_the_same_path_has_another_identity(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("one")
    (tmp_path / "c++").symlink_to("real")
    before = compilers.identity(str(tmp_path / "c++"))
    assert before == compilers.identity(str(tmp_path / "c++"))
    (tmp_path / "real").write_text("another")
    assert compilers.identity(str(tmp_path / "c++")) != before


def test_the_first_errors_are_what_a_person_looks_for() -> None:
    program = "import sys; print('note: x'); sys.stderr.write('x.cpp:1: error: no\\n' * 5); sys.exit(3)"
    ran = compilers.run([sys.executable, "-c", program])
    assert ran.status == 3 and "note: x" in ran.output
    assert ran.first_errors() == "\n".join(["x.cpp:1: error: no"] * 3)
    assert compilers.Ran(1, "killed\n").first_errors() == "killed"


@pytest.mark.parametrize(
    "output",
    [
        "x.cpp:1: error: no\n{tmp}.s: fatal error: error writing to {tmp}.s: No space left on device",
        "{tmp}.s: Fatal error: can't write 32 bytes to section .text of x.o: 'Disk quota exceeded'",
        "/usr/bin/ld: final link failed: No space left on device",
        "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.",
        "cc1plus: out of memory allocating 65536 bytes after a total of 1 bytes",
        "cc1plus: fatal error: cannot open 'x.s' for writing: Read-only file system",
    ],
)
def test_a_fault_of_the_machine_is_told_from_one_of_the_source(output: str) -> None:
    fault = compilers.Ran(1, output).fault_of_the_machine()
    assert fault is not None and fault in output
    assert compilers.Ran(0, output).fault_of_the_machine() is None
    assert compilers.Ran(1, "x.cpp:1: error: 'memory' is not a member of 'std'").fault_of_the_machine() is None


def test_a_compiler_that_is_killed_says_nothing_of_the_source() -> None:
    ran = compilers.run([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"])
    assert ran.fault_of_the_machine() == "the compiler was ended by signal 9"


def test_a_compiler_that_cannot_even_say_why_says_nothing_of_the_source() -> None:
    assert compilers.Ran(1, "\n").fault_of_the_machine() == "the compiler failed without a word"
    assert compilers.Ran(0, "").fault_of_the_machine() is None


def test_messages_are_in_english_whoever_runs_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they mean is read from them."""
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert compilers.run([sys.executable, "-c", "import os; print(os.environ['LC_ALL'])"]).output == "C\n"
