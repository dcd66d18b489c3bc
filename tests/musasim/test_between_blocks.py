"""MUSASIM_MEMCHECK=1 finds races between blocks, and barriers that not all threads reach; too much shared memory is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.interpreter import ROOT
from support.memcheck import Finding, compiled, environment, findings, planted, run

pytestmark = pytest.mark.once

SOURCE = "between_blocks.mu"
RACES = (
    "chain",
    "overlapping",
    "in_place",
    "cleared_while_added",
    "last_block",
    "told_after_barrier",
    "waits_for_flag",
    "same_value",
    "of_a_variable",
    "of_a_table",
)
RIGHT = ("counts", "counts_in_a_variable", "reads_what_all_read", "guarded", "neighbours", "shared_of_each")
DIVERGENT = {"half_of_a_block": "has returned", "another_barrier": "is at another one"}


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, tmp_path_factory.mktemp("between_blocks"))


def only(said: str, kind: str) -> Finding:
    finding = next((one for one in findings(said) if one.kind == kind), None)
    assert finding is not None, said
    return finding


@pytest.mark.parametrize("kernel", RACES)
def test_a_race_between_blocks_is_found_at_its_line(checked: Path, kernel: str) -> None:
    race = only(run(checked, kernel, 1).stderr, "race between blocks")
    assert race.kernel == kernel
    assert f"{SOURCE}:{planted(SOURCE, kernel, 'race between blocks')}" in " ".join(race.where)
    assert len(race.where) == 2, "both accesses are named"
    assert "of block (" in race.what


@pytest.mark.parametrize("kernel", [*RACES, *RIGHT])
def test_nothing_is_found_where_blocks_share_nothing_or_tell_each_other(checked: Path, kernel: str) -> None:
    assert run(checked, kernel, 0).stderr == ""


@pytest.mark.parametrize("kernel", DIVERGENT)
def test_a_barrier_that_not_all_threads_reach_is_named(checked: Path, kernel: str) -> None:
    finding = only(run(checked, kernel, 1).stderr, "divergent barrier")
    assert finding.kernel == kernel
    assert finding.where[0].endswith(f"{SOURCE}:{planted(SOURCE, kernel, 'divergent barrier')}")
    assert "thread (32, 0, 0) of the block" in finding.what and DIVERGENT[kernel] in finding.what
    assert run(checked, kernel, 0).stderr == ""


@pytest.mark.parametrize("memcheck", ["0", "1"])
def test_more_shared_memory_than_a_block_has_is_refused(checked: Path, memcheck: str) -> None:
    done = run(checked, "much_shared", 1, memcheck)
    assert done.stdout.startswith("1 "), "musaErrorInvalidValue"
    line = planted(SOURCE, "much_shared", "too much shared memory")
    assert f"{SOURCE}:{line}" in done.stderr and "52000 bytes of __shared__ variables" in done.stderr
    assert run(checked, "much_shared", 0, memcheck).stdout.startswith("0 ")


def test_variables_and_dynamic_memory_share_what_a_block_has(checked: Path) -> None:
    assert run(checked, "also_dynamic", 1, "0").stdout.startswith("1 ")
    assert run(checked, "also_dynamic", 0, "0").stdout.startswith("0 ")


def test_memory_that_is_never_freed_is_named_on_request(checked: Path) -> None:
    said = run(checked, "leak", 1, "0", MUSASIM_LEAKCHECK="1").stderr
    assert said.startswith("musasim: leak: 400 bytes on device 0 were not freed\n    at ")
    assert said.endswith(f"{SOURCE}:{planted_leak()}\n")
    assert run(checked, "leak", 1, "0").stderr == ""
    assert run(checked, "leak", 0, "0", MUSASIM_LEAKCHECK="1").stderr == ""


def planted_leak() -> int:
    lines = (Path(__file__).parent / "device" / SOURCE).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith("// leak"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["", "3"])
@pytest.mark.parametrize("name", ["warps", "launches", "cub", "guarantees", "numbers"])
def test_right_kernels_pass_their_tests_without_a_finding(name: str, seed: str) -> None:
    """The files have 16 kernels, and 43 more that a macro makes of an expression."""
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-m", "not slow", f"tests/musasim/test_device_{name}.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment(MUSASIM_SEED=seed))
    assert done.returncode == 0, done.stdout
    assert "memcheck" not in done.stderr + done.stdout
