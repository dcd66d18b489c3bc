"""MUSASIM_STREAMCHECK=1 names both places where nothing orders the work of streams and of the host, and finds nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.interpreter import Interpreter
from support.memcheck import compiled, run

pytestmark = pytest.mark.musa

PROGRAMS = Path(__file__).with_name("streams")
FAULTS = (PROGRAMS / "faults.py").read_text(encoding="utf-8")
RIGHT = (PROGRAMS / "right.py").read_text(encoding="utf-8")
ON = {"MUSASIM_STREAMCHECK": "1", "MUSASIM_DEVICE_COUNT": "2"}
FINDING = re.compile(r"^musasim: streamcheck: (.+?): (.+?): (.+)\n    at (.+)\n    and (.+)$", re.MULTILINE)


def programs(text: str) -> list[str]:
    return re.findall(r"^def (\w+)\(\):$", text, re.MULTILINE)


def line(program: str, mark: str) -> str:
    """Where a mark stands in a program, as a finding says it."""
    lines = FAULTS.splitlines()
    start = lines.index(f"def {program}():")
    number = next((i for i in range(start, len(lines)) if lines[i].endswith(f"# {mark}")), -1)
    return f"<string>:{number + 1}"


def findings(said: str) -> list[tuple[str, ...]]:
    return FINDING.findall(said)


KINDS = {
    "reads_a_pinned_result_too_early": "use before synchronisation",
    "reads_what_to_cpu_has_not_brought": "use before synchronisation",
    "reads_it_as_an_array": "use before synchronisation",
    "synchronises_the_wrong_stream": "use before synchronisation",
    "overwrites_a_pinned_source_too_early": "write before synchronisation",
}


@pytest.mark.full
@pytest.mark.parametrize("program", programs(FAULTS))
def test_a_planted_fault_is_found_with_both_places(musa: Interpreter, program: str) -> None:
    said = musa.run(f"{FAULTS}\n{program}()\n", env=ON, forked=True).stderr
    assert findings(said), said
    _, kind, _, place, other = findings(said)[0]
    assert kind == KINDS.get(program, "race between streams"), said
    assert place == line(program, "one"), said
    assert other == line(program, "other") or "graph" in program, said


@pytest.mark.full
def test_nothing_is_found_in_right_programs(musa: Interpreter) -> None:
    names = programs(RIGHT)
    assert len(names) >= 30
    said = musa.run(f"{RIGHT}\nfor program in ({', '.join(names)}) * 2:\n    program()\n", env=ON, forked=True).stderr
    assert said == ""


def test_it_says_who_does_what_on_which_stream(musa: Interpreter) -> None:
    said = musa.run(f"{FAULTS}\nreads_before_it_is_written()\n", env=ON, forked=True).stderr
    who, _, what, _, _ = findings(said)[0]
    assert who == "aten::add on stream 1 of device 0"
    assert what == "it reads what aten::mul on the default stream of device 0 writes; nothing orders them"
    assert said.endswith(f"    and {line('reads_before_it_is_written', 'other')}\n")


def test_memory_that_is_used_again_is_said_to_be_of_a_tensor_that_is_gone(musa: Interpreter) -> None:
    said = musa.run(f"{FAULTS}\nreuses_memory_without_record_stream()\n", env=ON, forked=True).stderr
    assert "reads, of a tensor that is gone: record_stream was not called; nothing orders them" in said


def test_without_the_setting_nothing_is_looked_at(musa: Interpreter) -> None:
    said = musa.run(f"{FAULTS}\nreads_before_it_is_written()\nreads_a_pinned_result_too_early()\n", forked=True).stderr
    assert said == ""


# --- programs of CUDA C++, without torch ---

SOURCE = "streams.mu"
# The marks of the line where the fault shows and of the other one; a kernel's own lines are named.
OF_CPP = {
    "kernels": ("read", "write"),
    "copy": ("one", "write"),
    "fill": ("read", "other"),
    "host_reads": ("one", "other"),
    "host_writes": ("one", "other"),
    "freed_in_another_stream": ("one", "write"),
}
RIGHT_IN_CPP = (
    "atomics",
    "streams_that_wait_for_the_default_one",
    "two_read",
    "parts",
    "host_is_told",
    "copies_that_wait",
    "a_kernel_uses_what_a_copy_is_busy_with",
)


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, tmp_path_factory.mktemp("streams"), "0", MUSASIM_STREAMCHECK="1")


def lines_with(mark: str, program: str) -> set[str]:
    """Where a mark stands, in the program or, of a kernel, anywhere."""
    lines = (PROGRAMS.parent / "device" / SOURCE).read_text(encoding="utf-8").splitlines()
    start = lines.index(next(text for text in lines if text.startswith(f"RUN({program})")))
    end = next(i for i in range(start, len(lines)) if lines[i] == "}")
    wanted = range(start, end) if mark in ("one", "other") else range(len(lines))
    return {f"{SOURCE}:{i + 1}" for i in wanted if lines[i].endswith(f"// {mark}")}


@pytest.mark.once
@pytest.mark.parametrize("program", OF_CPP)
def test_a_fault_between_streams_of_the_runtime_is_found(checked: Path, program: str) -> None:
    said = run(checked, program, 1, "0", MUSASIM_STREAMCHECK="1").stderr
    _, kind, _, *places = findings(said)[0]
    assert kind == {"host_reads": "use before synchronisation", "host_writes": "write before synchronisation"}.get(
        program, "race between streams"
    )
    for place, mark in zip(places, OF_CPP[program], strict=True):
        assert place.rpartition("/")[2] in lines_with(mark, program), said


@pytest.mark.once
@pytest.mark.parametrize("program", [*OF_CPP, *RIGHT_IN_CPP])
def test_nothing_is_found_where_streams_of_the_runtime_wait(checked: Path, program: str) -> None:
    done = run(checked, program, 0, "0", MUSASIM_STREAMCHECK="1")
    assert done.stderr == "" and done.stdout.startswith("0 ")
