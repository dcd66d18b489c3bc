"""`python -m outside programs CHECKOUT`, on programs of our own in a made-up checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from outside.programs import inputs, judging, table
from support.interpreter import ROOT

pytestmark = pytest.mark.once

MAKEFILE = """program = main
$(program): main.cu
\t$(CC) -arch=$(ARCH) main.cu -o $(program)
run: $(program)
\t./$(program) 100000 5
"""
DOUBLED = """#include <cstdio>
#include <cstdlib>
__global__ void twice(int* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= FACTOR; }
int main(int argc, char** argv) {
  int n = atoi(argv[1]), repeat = atoi(argv[2]), *x, *y = (int*)malloc(n * sizeof(int));
  for (int i = 0; i < n; ++i) y[i] = i;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemcpy(x, y, n * sizeof(int), cudaMemcpyHostToDevice);
  for (int i = 0; i < repeat; ++i) twice<<<(n + 255) / 256, 256>>>(x, n);
  cudaMemcpy(y, x, n * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) if (y[i] != 2 * i) { printf("FAIL at %d of %d\\n", i, n); return 0; }
  printf("PASS\\n");
}
"""


def program(checkout: Path, name: str, source: str, makefile: str = MAKEFILE) -> None:
    folder = checkout / "src" / f"{name}-cuda"
    folder.mkdir(parents=True)
    (folder / "Makefile").write_text(makefile)
    (folder / "main.cu").write_text(source)


@pytest.mark.full
def test_programs_are_ported_built_run_and_judged_once(tmp_path: Path) -> None:
    checkout, results = tmp_path / "checkout", tmp_path / "results"
    program(checkout, "good", DOUBLED.replace("FACTOR", "2"))
    program(checkout, "wrong", DOUBLED.replace("FACTOR", "3"))
    program(checkout, "lacking", "", MAKEFILE.replace("100000 5", "../data/missing.txt"))
    command = [sys.executable, "-m", "outside", "programs", str(checkout), "--results", str(results)]
    done = subprocess.run(command, cwd=ROOT / "tests", capture_output=True, text=True, timeout=600)
    assert done.returncode == 1, done.stderr
    assert "good: right\n" in done.stdout
    assert "wrong: ran: wrong: FAIL at 1 of 1562\n" in done.stdout
    assert "lacking: lacking: lacks ../data/missing.txt, which is not in the checkout\n" in done.stdout
    assert "| hecbench | 3 | 3 | 2 | 2 | 1 | 0 | 1 |" in done.stdout
    assert "not on the list: wrong: wrong: FAIL at 1 of 1562" in done.stdout
    assert not (checkout / "src" / "good-cuda" / "main").exists()
    (checkout / "src" / "good-cuda" / "main.cu").write_text("no longer read")
    again = subprocess.run([*command, "--score"], cwd=ROOT / "tests", capture_output=True, text=True, timeout=600)
    assert "good: right\n" in again.stdout


def test_numbers_of_the_makefile_are_cut_down() -> None:
    assert table.smaller("-n 100000 --name x 64 1000") == "-n 1562 --name x 64 1"
    assert table.smaller("") == ""


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("Test PASSED\n", ""),
        ("the results match\n", ""),
        ("Time 3.5 ms\n", None),
        ("PASS\nrow 3: FAIL\n", "row 3: FAIL"),
        ("10 mismatches\n", "10 mismatches"),
        ("mismatches: 0\nPASS\n", ""),
    ],
)
def test_a_program_is_believed(said: str, why: str | None) -> None:
    assert judging.by_message(table.Check(), said) == why


def test_numbers_are_compared_with_another_version() -> None:
    check = table.Check(lines="^cost:", tolerance=1e-3)
    assert judging.by_numbers(check, "time: 5\ncost: 1.0001 2", "cost: 1 2\ntime: 9") == ""
    assert judging.by_numbers(check, "cost: 1.1", "cost: 1") == "number 0 of 1 is 1.1, and 1 in the reference"
    assert judging.by_numbers(check, "cost: 1 2", "cost: 1") == "2 numbers, and 1 of the reference"
    assert judging.by_numbers(check, "cost: 1", "") == "the reference gives no numbers"
    assert judging.by_numbers(check, "cost: nan", "cost: nan") == "no number of the reference is finite"


def test_every_program_of_rodinia_has_a_generator_for_its_data(tmp_path: Path) -> None:
    for folder in ("cuda", "openmp"):
        (tmp_path / folder).mkdir()
    suite = table.read(tmp_path)
    assert suite.name == "rodinia"
    assert len(suite.programs) == 28
    names = {name for row in suite.programs for name in row.inputs}
    for name in sorted(names):
        inputs.make(name, tmp_path)
    for row in suite.programs:
        data = [word.strip("'") for word in row.command.run.split() if word.startswith("../../data/")]
        assert [word for word in data if not (tmp_path / word.removeprefix("../../")).exists()] == [], row.name


def test_a_folder_that_is_no_suite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        SystemExit, match="expected Rodinia's folders cuda and openmp, or HeCBench's src/NAME-cuda/Makefile"
    ):
        table.read(tmp_path)
