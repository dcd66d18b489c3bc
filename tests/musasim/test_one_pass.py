"""Host and device are one pass here: mcc names the host's code that would be another in a pass of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from musasim import toolkit

pytestmark = pytest.mark.once

HEADER = """
__host__ __device__ inline int where() {
#ifdef __MUSA_ARCH__
  return 1;
#else
  return 0;
#endif
}
"""
SAME = """
#define AT_LEAST(n) (__MUSA_ARCH__ >= n)
__device__ int of_device() {
#if AT_LEAST(220)
  return 1;
#else
  return 0;
#endif
}
__global__ void kernel(int* out) {
#ifdef __MUSA_ARCH__
  *out = of_device();
#endif
}
int of_host() { return 2; }
"""


def messages(folder: Path, **files: str) -> list[str]:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    command = [toolkit.home() / "bin" / "mcc", "-c", "main.mu", "-o", "main.o"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def test_code_of_both_sides_that_asks_for_the_architecture_is_named(tmp_path: Path) -> None:
    said = messages(tmp_path, both_muh=HEADER, main_mu='#include "both.muh"\n' + SAME)
    assert [line.partition(" code")[0] for line in said] == ["both.muh:4: note:"]
    assert "__MUSA_ARCH__" in said[0] and said[0].endswith("(and in 1 more line, up to line 6)")


def test_headers_of_installed_packages_are_not_named(tmp_path: Path) -> None:
    folder = tmp_path / "torch_musa" / "include"
    folder.mkdir(parents=True)
    (folder / "both.muh").write_text(HEADER)
    assert messages(tmp_path, main_mu='#include "torch_musa/include/both.muh"\n' + SAME) == []


def test_code_of_the_device_alone_may_ask(tmp_path: Path) -> None:
    assert messages(tmp_path, main_mu=SAME) == []


def test_code_of_the_host_that_is_left_out_is_named(tmp_path: Path) -> None:
    source = "#ifndef __MUSA_ARCH__\nint counted_1() { return 3; }\n#endif\nint same_2() { return 1; }\n"
    assert [line.partition(" code")[0] for line in messages(tmp_path, main_mu=source)] == ["main.mu:2: note:"]
