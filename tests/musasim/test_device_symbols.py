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


MEMBERS = """
#include <cstdio>
struct Grid { static __device__ int count; static __constant__ float steps[2]; };
__device__ int Grid::count = 3;
__constant__ float Grid::steps[2] = {1, 2};
__global__ void kernel(float* out) { *out = Grid::count + Grid::steps[1]; }
int main() {
  float* out;
  musaMallocManaged(&out, sizeof(float));
  kernel<<<1, 1>>>(out);
  musaDeviceSynchronize();
  printf("%g", *out);
}
"""


def test_a_class_has_static_variables_of_the_device(tmp_path: Path) -> None:
    (tmp_path / "members.mu").write_text(MEMBERS)
    assert program(tmp_path, "members.mu") == "5"


# Each line defines what the host's linker keeps once for a program. VALUE differs between the two files.
KINDS = """
struct Both { float x; __host__ __device__ __noinline__ float value() const { return x + VALUE; } };
struct Made {
  float* out;
  float x;
  __device__ Made(float* out, float x) : out(out), x(x + VALUE) {}
  __device__ __noinline__ ~Made() { *out = x; }
};
struct Base { __device__ virtual float value() const = 0; };
struct Derived : Base { __device__ float value() const override { return VALUE; } };
template <int N> __device__ int of_template = VALUE;
template <typename T> struct Holder { static __device__ int count; };
template <typename T> __device__ int Holder<T>::count = VALUE;
inline __device__ int of_all = VALUE;
__device__ inline int& within() { static int count = VALUE; return count; }
__device__ inline float by_lambda(float x) { auto add = [](float y) { return y + VALUE; }; return add(x); }
struct Scaled { __host__ __device__ float operator()(float x) const { return x * VALUE; } };
template <typename F> __device__ __noinline__ float called(F f) { return f(2.f); }
__device__ __noinline__ inline float through(const Base& base) { return base.value(); }
template <typename T> __global__ void by_template(T* out) { *out = VALUE; }
"""
USE_OF_KINDS = """
__global__ void {name}_kernel(float* out) {{
  out[0] = Both{{1}}.value();
  {{ Made made(out + 1, 2); }}
  Derived derived;
  out[2] = through(derived);
  out[3] = of_template<3>++;
  out[4] = Holder<int>::count++;
  out[5] = of_all++;
  out[6] = within()++;
  out[7] = by_lambda(3);
  out[8] = called(Scaled{{}});
}}
void {name}(float* out) {{
  {name}_kernel<<<1, 1>>>(out);
  by_template<<<1, 1>>>(out + 9);
}}
"""
MAIN_OF_KINDS = """
#include <cstdio>
void one(float*);
void two(float*);
int main() {
  float* out;
  musaMallocManaged(&out, 20 * sizeof(float));
  one(out);
  two(out + 10);
  musaDeviceSynchronize();
  for (int i = 0; i < 20; i++) printf("%g ", out[i]);
}
"""


def kinds(folder: Path, one: int, two: int, *words: str) -> str:
    (folder / "one.mu").write_text(f"#define VALUE {one}\n{KINDS}{USE_OF_KINDS.format(name='one')}")
    (folder / "two.mu").write_text(f"#define VALUE {two}\n{KINDS}{USE_OF_KINDS.format(name='two')}")
    (folder / "main.mu").write_text(MAIN_OF_KINDS)
    return program(folder, "-std=c++17", *words, "main.mu", "one.mu", "two.mu")


@pytest.mark.full
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_whatever_a_linker_may_merge_is_separate_in_each_file(tmp_path: Path, level: str) -> None:
    expected = "{0}1 {0}2 {0}0 {0}0 {0}0 {0}0 {0}0 {0}3 {1} {0}0"
    assert kinds(tmp_path, 10, 20, level) == f"{expected.format(1, 20)} {expected.format(2, 40)}"


@pytest.mark.full
def test_relocatable_code_has_one_of_each(tmp_path: Path) -> None:
    first = "11 12 10 10 10 10 10 13 20 10"
    assert kinds(tmp_path, 10, 10, "-fgpu-rdc") == f"{first} 11 12 10 11 11 11 11 13 20 10"


FOR_OTHER_FILES = """
#include "shared.muh"
template <typename T> __global__ void fill(T* out) { *out = twice(T(21)); }
template __global__ void fill<float>(float*);
template float twice<float>(float);
__global__ void plain(float* out) { *out = twice(1.f); }
void count() {
  counted()++;
  float* out;
  musaMallocManaged(&out, sizeof(float));
  plain<<<1, 1>>>(out);
}
"""
FROM_ANOTHER_FILE = """
#include <cstdio>
#include "shared.muh"
int main() {
  float* out;
  musaMallocManaged(&out, sizeof(float));
  fill<<<1, 1>>>(out);
  musaDeviceSynchronize();
  count();
  counted()++;
  printf("%g %g %d", *out, twice(4.f), counted());
}
"""


def test_other_files_of_the_host_find_kernels_and_functions_of_both_sides_by_their_names(tmp_path: Path) -> None:
    """And what the host alone has stays one for the program."""
    (tmp_path / "shared.muh").write_text(
        "template <typename T> __global__ void fill(T*);\nvoid count();\n"
        "inline int& counted() { static int count = 0; return count; }\n"
        "#ifdef DEFINES\ntemplate <typename T> __host__ __device__ __noinline__ T twice(T x) { return 2 * x; }\n"
        "#else\ntemplate <typename T> __host__ __device__ T twice(T x);\n#endif\n"
    )
    (tmp_path / "defines.mu").write_text("#define DEFINES" + FOR_OTHER_FILES)
    (tmp_path / "main.mu").write_text(FROM_ANOTHER_FILE)
    assert program(tmp_path, "main.mu", "defines.mu") == "42 8 2"


RELOCATABLE = """
__device__ int factor = 2;
__constant__ float addend = 0;
__device__ float twice(float value) { return factor * value + addend; }
"""
USES = """
#include <cstdio>
extern __device__ float twice(float);
extern __device__ int factor;
extern __constant__ float addend;
__global__ void kernel(float* result) { *result = twice(21); factor = 3; }
int main() {
  float* result;
  musaMallocManaged(&result, sizeof(float));
  const float one = 1;
  musaMemcpyToSymbol(addend, &one, sizeof one);
  for (int i = 0; i < 2; i++) {
    kernel<<<1, 1>>>(result);
    musaDeviceSynchronize();
    printf("%g ", *result);
  }
}
"""


def test_relocatable_code_is_linked_across_files_and_other_code_is_not(tmp_path: Path) -> None:
    (tmp_path / "twice.mu").write_text(RELOCATABLE)
    (tmp_path / "uses.mu").write_text(USES)
    assert program(tmp_path, "-fgpu-rdc", "twice.mu", "uses.mu") == "43 64"
    refused = mcc(tmp_path, "twice.mu", "uses.mu", "-o", "program", "-lmusart")
    assert refused.returncode and "undefined reference to `twice(float)'" in refused.stderr
