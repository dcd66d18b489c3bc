"""A program of its own, without Python, calls muBLAS: as on hardware, it needs nothing but the toolkit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from musasim.toolkit import home
from musasim.toolkit.compiler import cpu_library

pytestmark = pytest.mark.once

PROGRAM = r"""
#include <cstdio>
#include <mublas.h>
#include <musa_runtime.h>
int main() {
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, one = 1, zero = 0;
  float *x, *y, *z, c[4];
  musaMalloc((void**)&x, 16); musaMalloc((void**)&y, 16); musaMalloc((void**)&z, 16);
  musaMemcpy(x, a, 16, musaMemcpyHostToDevice);
  musaMemcpy(y, b, 16, musaMemcpyHostToDevice);
  mublasHandle_t handle;
  mublasCreate(&handle);
  const mublasStatus_t status = mublasSgemm(handle, MUBLAS_OP_N, MUBLAS_OP_N, 2, 2, 2, &one, x, 2, y, 2, &zero, z, 2);
  musaMemcpy(c, z, 16, musaMemcpyDeviceToHost);
  std::printf("%d: %g %g %g %g\n", status, c[0], c[1], c[2], c[3]);
}
"""


@pytest.mark.full
def test_a_product_by_mublas(tmp_path: Path) -> None:
    source, program = tmp_path / "program.cpp", tmp_path / "program"
    source.write_text(PROGRAM)
    command = [home() / "bin" / "mcc", f"-I{home() / 'include'}", source, "-o", program, "-lmublas", "-lmusart"]
    subprocess.run(list(map(str, command)), check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0: 23 34 31 46\n", "")


KERNEL = """
#include <musa_runtime.h>
struct alignas(32) Wide { float values[8]; };
__global__ void add(float* out, Wide wide) { out[threadIdx.x] = wide.values[threadIdx.x] + 1; }
extern "C" void run(float* out) {
  Wide wide = {{1, 2, 3, 4, 5, 6, 7, 8}};
  float* y;
  musaMalloc((void**)&y, 32);
  add<<<1, 8>>>(y, wide);
  musaMemcpy(out, y, 32, musaMemcpyDeviceToHost);
}
"""
MAIN = """
#include <stdio.h>
void run(float* out);
int main(void) {
  float out[8];
  run(out);
  printf("%g %g\\n", out[0], out[7]);
  return 0;
}
"""


@pytest.mark.full
def test_a_program_in_c_needs_no_library_of_c_plus_plus(tmp_path: Path) -> None:
    (tmp_path / "kernel.mu").write_text(KERNEL)
    (tmp_path / "main.c").write_text(MAIN)
    mcc, library = str(home() / "bin" / "mcc"), home() / "lib"
    subprocess.run([mcc, "-O0", "-c", "kernel.mu", "-o", "kernel.o"], cwd=tmp_path, check=True)
    link = ["cc", "main.c", "kernel.o", f"-L{library}", f"-Wl,-rpath,{library}", "-lmusart", "-o", "program"]
    subprocess.run(link, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2 9\n", "")


@pytest.mark.parametrize(
    ("words", "is_needed"),
    [
        (["a.o", "-lmublas"], True),
        (["a.o", "/toolkit/lib/libmusolver.so"], True),
        (["a.o", "-lmublasLt", "-o", "a"], True),
        (["a.o", "-lmusart", "-lmublasx"], False),
        (["-shared", "a.o", "-lmublas"], False),
    ],
)
def test_only_programs_that_call_it_load_pytorchs_library(words: list[str], is_needed: bool) -> None:
    added = cpu_library.needed_by(words)
    assert any(word.endswith("/libtorch_cpu.so") for word in added) is is_needed and bool(added) is is_needed
