"""Device functions belong to their file: two files of a library may have different ones of the same name, as in CUDA."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from musasim import toolkit

pytestmark = pytest.mark.once

# Two files with one text, but for the type of the numbers and the values.
FILE = """
struct Point {{
  {type} x, y;
  __device__ Point({type} x, {type} y) : x(x), y(y) {{}}
  __device__ {type} sum() const;
  friend __device__ bool operator==(Point a, Point b);
}};
__device__ {type} Point::sum() const {{ return x + y + {extra}; }}
__device__ __noinline__ inline void spread(Point* points, int count) {{
  for (int i = 1; i < count; i++) points[i] = Point(points[i - 1].sum(), i);
}}
template <typename T> __device__ T scaled(T value) {{ return value * {extra}; }}
__device__ {type} plain({type} value) {{ return scaled(value); }}
__host__ __device__ __noinline__ inline int common(int value) {{ return value + 1; }}

__global__ void {name}_kernel(double* result) {{
  Point points[3] = {{Point(1, 2), Point(0, 0), Point(0, 0)}};
  spread(points, 3);
  result[0] = points[2].x;
  result[1] = plain(0.5);
  result[2] = common(1);
}}
void {name}(double* result) {{ {name}_kernel<<<1, 1>>>(result); }}
"""
MAIN = """
#include <cstdio>
void singles(double*);
void doubles(double*);
int main() {
  double* result;
  musaMallocManaged(&result, 6 * sizeof(double));
  singles(result);
  doubles(result + 3);
  musaDeviceSynchronize();
  for (int i = 0; i < 6; i++) printf("%g ", result[i]);
}
"""


def mcc(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(toolkit.home() / "bin" / "mcc"), "-O1", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def program(folder: Path, *words: str) -> str:
    done = mcc(folder, *words, "-o", "program", "-lmusart")
    assert done.returncode == 0, done.stderr
    return subprocess.run([folder / "program"], capture_output=True, text=True, timeout=60, check=True).stdout.strip()


@pytest.mark.parametrize("files", [("singles.mu", "doubles.mu"), ("doubles.mu", "singles.mu")])
def test_each_file_has_its_own_functions_and_classes(tmp_path: Path, files: tuple[str, str]) -> None:
    (tmp_path / "singles.mu").write_text(FILE.format(name="singles", type="float", extra=10))
    (tmp_path / "doubles.mu").write_text(FILE.format(name="doubles", type="double", extra=100))
    (tmp_path / "main.mu").write_text(MAIN)
    # points[1] is (1 + 2 + extra, 1), and points[2].x what its numbers and extra sum up to.
    assert program(tmp_path, *files, "main.mu") == "24 5 2 204 50 2"


def test_renamed_functions_are_readable_and_those_of_the_host_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "singles.mu").write_text(FILE.format(name="singles", type="float", extra=10))
    assert mcc(tmp_path, "-c", "singles.mu", "-o", "one.o").returncode == 0
    shown = subprocess.run(["nm", "-C", "one.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "spread(Point*, int) [clone" in shown
    assert "common(int)\n" in shown, "what the host has as well stays the linker's to merge"


RELOCATABLE = "__device__ float twice(float value) { return 2 * value; }"
USES = """
#include <cstdio>
extern __device__ float twice(float);
__global__ void kernel(float* result) { *result = twice(21); }
int main() {
  float* result;
  musaMallocManaged(&result, sizeof(float));
  kernel<<<1, 1>>>(result);
  musaDeviceSynchronize();
  printf("%g", *result);
}
"""


def test_relocatable_code_is_linked_across_files_and_other_code_is_not(tmp_path: Path) -> None:
    (tmp_path / "twice.mu").write_text(RELOCATABLE)
    (tmp_path / "uses.mu").write_text(USES)
    assert program(tmp_path, "-fgpu-rdc", "twice.mu", "uses.mu") == "42"
    refused = mcc(tmp_path, "twice.mu", "uses.mu", "-o", "program", "-lmusart")
    assert refused.returncode and "undefined reference to `twice(float)'" in refused.stderr
