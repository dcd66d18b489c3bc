"""PyTorch's header-only headers in kernels: what they have for CUDA's compiler alone, a ported kernel finds as well."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch

from musasim import toolkit
from torchada.building.stable_abi import stable_include_dir

pytestmark = pytest.mark.once

KERNEL = """
#include <torch/headeronly/util/Half.h>
template <class T>
__global__ void copy(const T* x, T* y) { y[threadIdx.x] = __ldg(x + threadIdx.x); }
void launch(const c10::Half* x, c10::Half* y) { copy<<<1, 32>>>(x, y); }
"""


@pytest.mark.full
def test_halves_are_loaded_by_ldg(tmp_path: Path) -> None:
    """As vLLM's activations do."""
    (tmp_path / "copy.mu").write_text(KERNEL)
    include = Path(torch.__file__).parent / "include"
    folders = [f"-I{stable_include_dir()}", f"-I{include}", f"-I{toolkit.home() / 'include'}"]
    mcc = [str(toolkit.home() / "bin" / "mcc"), "-x", "musa", "-std=c++20", "-O0"]
    words = [*mcc, *folders, "-c", "copy.mu", "-o", "copy.o"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
