"""MUSASIM_MEMCHECK=1 finds planted faults of device code, with kernel, block, thread and line, and none where there is none."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.memcheck import compiled, environment, findings
from support.memcheck import planted as line_of
from support.memcheck import run as memcheck_run

pytestmark = pytest.mark.once

SOURCE = "memcheck.mu"
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


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, tmp_path_factory.mktemp("memcheck"))


def test_code_of_the_host_is_left_alone(checked: Path) -> None:
    assert ctypes.CDLL(str(checked)).sum_of_squares(4) == 64 + 14


def run(library: Path, kernel: str, shift: int, memcheck: str = "1") -> str:
    return memcheck_run(library, kernel, shift, memcheck).stderr


def planted(kernel: str, fault: str) -> int:
    return line_of(SOURCE, {"global_unwritten": "copy"}.get(kernel, kernel), fault)


@pytest.mark.parametrize("kernel", FAULTS)
def test_a_planted_fault_is_found_at_its_line(checked: Path, kernel: str) -> None:
    fault, shift = FAULTS[kernel]
    said = run(checked, kernel, shift)
    found = next((each for each in findings(said) if each.kind == fault), None)
    assert found is not None, said
    assert found.kernel == {"global_unwritten": "copy"}.get(kernel, kernel)
    assert found.block == 0
    assert any(each.endswith(f"memcheck.mu:{planted(kernel, fault)}") for each in found.where), said


def test_a_place_in_a_folder_with_a_space_in_its_name_is_named_whole(tmp_path: Path) -> None:
    source = Path(shutil.copytree(Path(__file__).parent / "device", tmp_path / "a folder")) / SOURCE
    said = run(compiled(str(source), tmp_path), "read_past_end", 1)
    assert findings(said)[0].where == [f"{source}:{planted('read_past_end', 'read out of bounds')}"]


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
    plain = compiled(SOURCE, tmp_path, "0")
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
