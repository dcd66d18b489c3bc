"""MUSASIM_COVERAGE: which lines of kernels have run, as a table and as a tracefile of lcov."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from musasim.coverage import table
from musasim.toolkit import home

pytestmark = pytest.mark.once

KERNELS = """\
#include <musa_runtime.h>
template <class Number>
__global__ void half(Number* x, int n) {
  int i = threadIdx.x;
  if (i < n) {
    x[i] /= 2;
  } else {
    x[0] = 0;
  }
}
extern "C" int run(float* x, int n) {
  half<<<1, 4>>>(x, n);
  return musaDeviceSynchronize();
}
"""
MORE = 'extern "C" int never() {\n  return 7;\n}\n'
RUN = """
import ctypes, sys
library = ctypes.CDLL("./kernels.so")
library.run((ctypes.c_float * 4)(), int(sys.argv[1]))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A library of two sources, each with what counts."""
    (tmp_path / "kernels.mu").write_text(KERNELS)
    (tmp_path / "more.mu").write_text(MORE)
    environment = {**os.environ, "MUSASIM_COVERAGE": str(tmp_path / "counts")}
    mcc = str(home() / "bin" / "mcc")
    for source in ("kernels", "more"):
        compile_it = [mcc, "-fPIC", "-c", f"{source}.mu", "-o", f"{source}.o"]
        subprocess.run(compile_it, cwd=tmp_path, env=environment, check=True)
    link = ["g++", "-shared", "kernels.o", "more.o", "-o", "kernels.so", f"-L{home() / 'lib'}", "-lmusart"]
    subprocess.run([*link, f"-Wl,-rpath,{home() / 'lib'}"], cwd=tmp_path, check=True)
    return tmp_path


def reported(project: Path, *more: str) -> list[str]:
    command = [sys.executable, "-m", "musasim", "coverage", "counts", *more]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def run(project: Path, count: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(count)], cwd=project, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


@pytest.mark.full
def test_lines_that_have_not_run_are_named(project: Path) -> None:
    run(project, 4)
    assert reported(project) == [
        "kernels.mu: 7 of 8 lines, 87 %; not run: 8",
        "more.mu: 0 of 2 lines, 0 %; not run: 1, 2",
    ]
    run(project, 3)  # another process adds to the counts
    assert reported(project, "-o", "device.info")[0] == "kernels.mu: 8 of 8 lines, 100 %"
    text = (project / "device.info").read_text().splitlines()
    assert text[:2] == ["TN:", f"SF:{project}/kernels.mu"] and "DA:6,7" in text and "DA:8,1" in text
    assert text.count("end_of_record") == 2 and "LF:8" in text and "LH:8" in text


def test_a_folder_without_notes_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "musasim", "coverage", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and f"build the kernels with MUSASIM_COVERAGE={tmp_path}" in done.stderr


def test_a_file_that_ran_has_nothing_missing() -> None:
    assert list(table({"a.cu": {1: 2, 4: 0}, "b.cu": {3: 1}})) == [
        "a.cu: 1 of 2 lines, 50 %; not run: 4",
        "b.cu: 1 of 1 lines, 100 %",
    ]
