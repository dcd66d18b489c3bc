"""The headers for extensions: their files are those that the real package has, and they lead to each other as after its build."""

from __future__ import annotations

from pathlib import Path

import pytest

import musasim
from musasim import compatible_headers
from support.interpreter import TORCH

pytestmark = pytest.mark.once

PACKAGE = Path(musasim.__file__).parent / "torch_musa"
GENERATED = "share/generated_cuda_compatible/include"
# PyTorch's own, in every build, with what kernels need.
# torch_musa 2.9 has a copy of its own, with the functions that operators by the stable ABI call.
LATER = {"torch/csrc/inductor/aoti_torch/c/shim.h", "torch/csrc/stable/c/shim.h"}
# The list is of torch 2.13's headers; of those of torch 2.7, torch_musa's tool makes this as well.
EARLIER = {"ATen/native/musa/cutlass_utils.muh"}
# Headers of PyTorch that torch_musa has too, changed; the list has those with CUDA's name.
CHANGED = {*compatible_headers._FOR_KERNELS, *compatible_headers._FILES, compatible_headers._JIT}


def _real() -> set[str]:
    names, folder = set(), ""
    for line in Path(__file__).with_name("torch_musa_headers.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            names |= {f"{folder}/{name}" for name in line.split()}
        elif not line.startswith("#"):
            folder = line
    return names


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in (".h", ".muh", ".hpp")}


def test_there_is_no_header_that_the_real_package_lacks() -> None:
    generated, root = map(Path, compatible_headers.folders())
    ours = _files(PACKAGE / GENERATED) | (_files(generated) - CHANGED)
    ours |= {f"torch_musa/csrc/{name}" for name in _files(PACKAGE / "csrc") | _files(root / "torch_musa" / "csrc")}
    assert ours - _real() - LATER - (EARLIER if TORCH < (2, 8) else set()) == set()
    assert {"ATen/musa/PhiloxCudaState.h", "torch_musa/csrc/core/MUSAGraphsC10Utils.h"} <= ours


def test_a_generated_header_includes_what_torch_musa_has_written_anew() -> None:
    generated = Path(compatible_headers.folders()[0])
    text = "".join(path.read_text(encoding="utf-8") for path in generated.rglob("*") if path.is_file())
    assert '#include "torch_musa/csrc/core/GuardImpl.h"' in (generated / "c10/musa/MUSAGuard.h").read_text(
        encoding="utf-8"
    )
    assert [name for name in compatible_headers._OWN if f"<{name}>" in text or f'"{name}"' in text] == []


def test_names_of_the_driver_and_headers_of_the_toolkit() -> None:
    given = (
        "#include <cub/version.cuh>\n#include <ATen/cuda/cub.cuh>\nCUmodule m; CUresult r = cuMemCreate(CUDA_SUCCESS);"
    )
    lines = compatible_headers.translate(given).splitlines()
    assert lines[0] == "#include <cub/version.cuh>", "the toolkit's own, which has this name"
    assert lines[1] == "#include <ATen/musa/cub.muh>"
    assert lines[2] == "MUmodule m; MUresult r = muMemCreate(MUSA_SUCCESS);"


def test_no_kernel_is_generated_at_run_time() -> None:
    text = Path(compatible_headers.folders()[0], compatible_headers._JIT).read_text(encoding="utf-8")
    assert "#define AT_USE_JITERATOR() false" in text and "<ATen/musa/MUSAConfig.h>" in text
