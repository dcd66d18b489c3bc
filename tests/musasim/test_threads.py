"""MUSASIM_THREADS: blocks of a kernel run on several OS threads, and kernels give the same results."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.memcheck import compiled, run

pytestmark = [pytest.mark.once, pytest.mark.full]

BLOCKS, THREADS = 64, 128
EXPECTED = {
    "sums": [float(THREADS * block + THREADS * (THREADS - 1) // 2) for block in range(BLOCKS)],
    "counts": [float(BLOCKS * THREADS * 16), float(BLOCKS * THREADS * 16), float(BLOCKS * THREADS - 1)],
    "chain": [float(block + 1) for block in range(BLOCKS)],
    "meet": [1.0, 1.0],
}
PARALLEL = {"MUSASIM_THREADS": "3"}


@pytest.fixture(scope="module")
def threaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("threads.mu", tmp_path_factory.mktemp("threads"), "0", **PARALLEL)


def answer(done: subprocess.CompletedProcess[str]) -> tuple[int, list[float]]:
    error, _, numbers = done.stdout.partition(" ")
    return int(error), ast.literal_eval(numbers)


@pytest.mark.parametrize("kernel", EXPECTED)
def test_blocks_on_several_threads_give_the_same(threaded: Path, kernel: str) -> None:
    done = run(threaded, kernel, 0, "0", **PARALLEL)
    error, numbers = answer(done)
    assert (error, done.stderr) == (0, "")
    assert numbers[: len(EXPECTED[kernel])] == EXPECTED[kernel]


@pytest.mark.parametrize("kernel", ["sums", "counts"])
@pytest.mark.parametrize("settings", [{}, {"MUSASIM_THREADS": "3", "MUSASIM_SEED": "0"}])
def test_such_kernels_also_run_one_block_at_a_time(threaded: Path, kernel: str, settings: dict[str, str]) -> None:
    error, numbers = answer(run(threaded, kernel, 0, "0", **settings))
    assert error == 0 and numbers[: len(EXPECTED[kernel])] == EXPECTED[kernel]


@pytest.mark.parametrize(
    ("kernel", "error", "what"), [("faulty", 700, "no memory of the device"), ("trapped", 719, "")]
)
def test_a_fault_ends_the_launch_and_is_told_once(threaded: Path, kernel: str, error: int, what: str) -> None:
    done = run(threaded, kernel, 0, "0", **PARALLEL)
    (line,) = done.stderr.splitlines()
    assert re.match(rf"musasim: kernel {kernel}, block \(\d+, 0, 0\), thread \(\d, 0, 0\): {what}", line)
    assert answer(done)[0] == error


def test_kernels_that_were_built_without_it_run_as_before(tmp_path: Path) -> None:
    library = compiled("threads.mu", tmp_path, "0")
    error, numbers = answer(run(library, "sums", 0, "0", **PARALLEL))
    assert error == 0 and numbers == EXPECTED["sums"]


def test_a_child_process_has_threads_of_its_own(threaded: Path) -> None:
    code = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1])
x, y = (ctypes.c_float * 64)(), (ctypes.c_float * 64)()
child = os.fork()
library.run_sums(x, y, ctypes.c_long(0))
print(list(y), flush=True)
if child:
    os.waitpid(child, 0)
"""
    command = [sys.executable, "-c", code, str(threaded)]
    done = subprocess.run(command, env={**os.environ, **PARALLEL}, capture_output=True, text=True, timeout=300)
    assert [ast.literal_eval(line) for line in done.stdout.splitlines()] == [EXPECTED["sums"]] * 2
