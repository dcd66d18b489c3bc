"""MUSASIM_MEMCHECK=1 finds planted faults of device code, with kernel, block, thread and line, and none where there is none."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from musasim.toolkit import home
from support.interpreter import ROOT

pytestmark = pytest.mark.once

SOURCE = ROOT / "tests" / "musasim" / "device" / "memcheck.mu"
# By kernel: the fault and how it is planted (a kernel's `shift`).
FAULTS = {
    "read_past_end": ("read out of bounds", 1),
    "write_past_end": ("write out of bounds", 3),
    "read_before": ("read out of bounds", 1),
    "add_past_end": ("write out of bounds", 1),
    "shared_unwritten": ("uninitialised read", 1),
    "global_unwritten": ("uninitialised read", 1),
    "read_freed": ("read after free", 1),
    "race_write_write": ("race", 1),
    "race_of_values": ("race", 1),  # without the fault, all threads write the same number
    "race_missing_barrier": ("race", 32),
    "race_at_a_fixed_place": ("race", 1),
    "race_of_a_variable": ("race", 1),
    "race_in_global_memory": ("race", 1),
    "misaligned": ("misaligned access", 1),
}

RUN = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
x = (ctypes.c_float * 64)(*range(1, 65))
y = (ctypes.c_float * 64)(*[-1] * 64)
getattr(library, "run_" + sys.argv[2])(x, y, ctypes.c_long(int(sys.argv[3])))
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("memcheck"), "1")


def compiled(folder: Path, memcheck: str) -> Path:
    library = folder / "memcheck.so"
    mcc = [home() / "bin" / "mcc", "-O1", "-shared", "-fPIC", SOURCE, "-o", library, "-lmusart"]
    done = subprocess.run(mcc, capture_output=True, text=True, env=environment(memcheck))
    assert done.returncode == 0, done.stderr
    return library


def test_code_of_the_host_is_left_alone(checked: Path) -> None:
    assert ctypes.CDLL(str(checked)).sum_of_squares(4) == 64 + 14


def environment(memcheck: str) -> dict[str, str]:
    return {**os.environ, "MUSASIM_MEMCHECK": memcheck}


def run(library: Path, kernel: str, shift: int, memcheck: str = "1") -> str:
    """What a run in a process of its own has said."""
    command = [sys.executable, "-c", RUN, str(library), kernel, str(shift)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment(memcheck)).stderr


def planted(kernel: str, fault: str) -> int:
    """The line of a kernel that says which fault it has."""
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    name = {"global_unwritten": "copy"}.get(kernel, kernel)
    start = next(i for i, line in enumerate(lines) if re.match(rf"__global__ void {name}\(", line))
    return next(i for i in range(start, len(lines)) if lines[i].endswith(f"// {fault}")) + 1


class Finding:
    """What is said of a fault: its kernel and kind, and the lines, two of a race."""

    def __init__(self, text: str) -> None:
        place, self.kind, self.what = text.split("\n")[0].split(": ", 2)
        self.kernel = re.split(r"[ ,(]", place)[1]
        self.where = re.findall(r"^    (?:at|and) (\S+)$", text, re.MULTILINE)
        assert re.search(r", block \(0, 0, 0\), thread \(\d+, 0, 0\)$", place)


def findings(said: str) -> list[Finding]:
    parts = said.split("musasim: memcheck: ")
    assert len(parts) == 1 or re.fullmatch(r"\d+ faults? found\n", parts[-1])
    return [Finding(part) for part in parts[1:-1]]


@pytest.mark.parametrize("kernel", FAULTS)
def test_a_planted_fault_is_found_at_its_line(checked: Path, kernel: str) -> None:
    fault, shift = FAULTS[kernel]
    said = run(checked, kernel, shift)
    found = next((each for each in findings(said) if each.kind == fault), None)
    assert found is not None, said
    assert found.kernel == {"global_unwritten": "copy"}.get(kernel, kernel)
    assert any(each.endswith(f"memcheck.mu:{planted(kernel, fault)}") for each in found.where), said


@pytest.mark.parametrize("kernel", [*FAULTS, "ordered"])
def test_nothing_is_found_without_a_fault(checked: Path, kernel: str) -> None:
    assert run(checked, kernel, 0) == ""


def test_both_sides_of_a_race_are_named(checked: Path) -> None:
    said = run(checked, "race_missing_barrier", 32)
    first = next(each for each in findings(said) if each.kind == "race")
    lines = sorted(int(each.rpartition(":")[2]) for each in first.where)
    assert lines == [planted("race_missing_barrier", "race") - 2, planted("race_missing_barrier", "race")]
    assert "writes what the other reads" in first.what or "reads what the other writes" in first.what


def test_the_distance_from_an_allocation_is_said(checked: Path) -> None:
    assert "4 bytes past the end of an allocation of 256 bytes" in run(checked, "read_past_end", 1)
    assert "4 bytes before an allocation of 256 bytes" in run(checked, "read_before", 1)


def test_without_the_setting_nothing_is_looked_at(checked: Path, tmp_path: Path) -> None:
    assert run(checked, "race_write_write", 1, memcheck="0") == ""
    plain = compiled(tmp_path, "0")
    assert b"__asan" not in plain.read_bytes()
    assert ctypes.CDLL(str(plain)).run_ordered is not None


TENSORS = """
import ctypes, sys
import musasim
musasim.install()
import torch, torch_musa
library = ctypes.CDLL(sys.argv[1])
x, y = torch.arange(64.0, device="musa"), torch.zeros(64, device="musa")
other = torch.zeros(64, device="musa")
shift = int(sys.argv[2])
def launch(source, shift):
    library.launch_read_past_end(ctypes.c_void_p(source.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_long(shift))
launch(x, shift)
launch(torch.empty(64, device="musa") if shift else x, 0)
"""


@pytest.mark.full
def test_tensors_have_ends_and_contents(checked: Path) -> None:
    """Two tensors of the caching allocator lie side by side in one allocation of the driver's."""
    for shift, kinds in ((0, []), (1, ["read out of bounds", "uninitialised read"])):
        command = [sys.executable, "-c", TENSORS, str(checked), str(shift)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment("1"))
        assert done.returncode == 0, done.stderr
        assert [each.kind for each in findings(done.stderr)] == kinds, done.stderr
