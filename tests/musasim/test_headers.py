"""The headers for extensions: their files are those that the real package has, and they lead to each other as after its build."""

from __future__ import annotations

from pathlib import Path

import pytest

import musasim
from musasim.base import torch_headers
from musasim.base.toolchain import find_torch
from support.interpreter import TORCH

pytestmark = pytest.mark.once

PACKAGE = Path(musasim.__file__).parent / "torch_musa"
GENERATED = "share/generated_cuda_compatible/include"
# PyTorch's own, in every build, with what kernels need.
# torch_musa 2.9 has a copy of its own, with the functions that operators by the stable ABI call.
LATER = {"torch/csrc/inductor/aoti_torch/c/shim.h", "torch/csrc/stable/c/shim.h"}
# The list is of torch 2.13's headers; of those of other versions, torch_musa's tool makes these as well.
OF_OTHER_VERSIONS = {
    (2, 7): {"ATen/native/musa/cutlass_utils.muh"},
    (2, 11): {"ATen/musa/MUSAScaledBlas.h"},
    (2, 15): {
        *("ATen/musa/detail/CublasLtUtils.h", "ATen/musa/tunable/GemmCublaslt.h"),
        *("ATen/native/musa/CublasGroupedArgs.h", "ATen/native/musa/ScaledBlasDeviceUtils.h"),
        *("ATen/native/musa/thrust_compat.h", "c10/musa/impl/MUSAGraphMemory.h"),
    },
}
# Headers of PyTorch that torch_musa has too, changed; the list has those with CUDA's name.
CHANGED = {*torch_headers._FOR_KERNELS, *torch_headers._FILES, torch_headers._JIT}
# Headers of PyTorch that torch_musa patches where they lie, in PyTorch's own folder.
PATCHED = {
    f"torch/csrc/inductor/aoti_runtime/{name}.h" for name in ("device_utils", "model", "model_base", "model_container")
}


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
    generated, root = map(Path, torch_headers.folders())
    ours = _files(PACKAGE / GENERATED) | (_files(generated) - CHANGED - PATCHED)
    ours |= {f"torch_musa/csrc/{name}" for name in _files(PACKAGE / "csrc") | _files(root / "torch_musa" / "csrc")}
    assert ours - _real() - LATER - OF_OTHER_VERSIONS.get(TORCH, set()) == set()
    assert {"ATen/musa/PhiloxCudaState.h", "torch_musa/csrc/core/MUSAGraphsC10Utils.h"} <= ours


def test_a_generated_header_includes_what_torch_musa_has_written_anew() -> None:
    generated = Path(torch_headers.folders()[0])
    text = "".join(path.read_text(encoding="utf-8") for path in generated.rglob("*") if path.is_file())
    assert '#include "torch_musa/csrc/core/GuardImpl.h"' in (generated / "c10/musa/MUSAGuard.h").read_text(
        encoding="utf-8"
    )
    assert [name for name in torch_headers._OWN if f"<{name}>" in text or f'"{name}"' in text] == []


def test_names_of_the_driver_and_headers_of_the_toolkit() -> None:
    given = (
        "#include <cub/version.cuh>\n#include <ATen/cuda/cub.cuh>\nCUmodule m; CUresult r = cuMemCreate(CUDA_SUCCESS);"
    )
    lines = torch_headers.translate(given).splitlines()
    assert lines[0] == "#include <cub/version.cuh>", "the toolkit's own, which has this name"
    assert lines[1] == "#include <ATen/musa/cub.muh>"
    assert lines[2] == "MUmodule m; MUresult r = muMemCreate(MUSA_SUCCESS);"


@pytest.mark.parametrize(
    ("cuda", "musa"),
    [
        ("CUDA_KERNEL_LOOP(i, CUDA_NUM_THREADS)", "CUDA_KERNEL_LOOP(i, CUDA_NUM_THREADS)"),
        ("at_cuda_detail::cub::f(getCudaDataType<T>())", "at_cuda_detail::cub::f(getCudaDataType<T>())"),
        ("struct CUDAEvent { cudaEvent_t e; };", "struct CUDAEvent { musaEvent_t e; };"),
        ("TORCH_CUDASPARSE_CHECK(cusparseDestroy(h));", "TORCH_CUDASPARSE_CHECK(musparseDestroy(h));"),
        ("CUFFT_CHECK(cufftExecC2C(p)); CUFFT_SUCCESS", "CUFFT_CHECK(mufftExecC2C(p)); MUFFT_SUCCESS"),
        ("#define CUSPARSE_BSRMM_ARGTYPES cusparseHandle_t", "#define CUSPARSE_BSRMM_ARGTYPES musparseHandle_t"),
        (
            "at::cuda::getCurrentCUDAStream(); C10_CUDA_CHECK(e);",
            "at::musa::getCurrentMUSAStream(); C10_MUSA_CHECK(e);",
        ),
        ("curandStatePhilox4_32_10_t s;", "murand_state_philox4x32_10 s;"),
        ("#if CUDA_VERSION >= 12000", "#if MUSA_COMP_VERSION >= 12000"),
        (
            "if (t.is_cuda() && type == DeviceType::CUDA)",
            "if (t.is_privateuseone() && type == DeviceType::PrivateUse1)",
        ),
        ("case DeviceType::CUDA: return Backend::CUDA;", "case DeviceType::CUDA: return Backend::CUDA;"),
        ("#include <curand_philox4x32_x.h>", "#include <murand_philox4x32_10.h>"),
    ],
)
def test_words_that_the_tool_does_not_know_stay(cuda: str, musa: str) -> None:
    assert torch_headers.translate(cuda) == musa


def test_what_torch_musa_has_written_anew_has_its_names_throughout() -> None:
    generated, root = map(Path, torch_headers.folders())
    graph = "torch_musa/csrc/aten/musa/MUSAGraph.h"
    assert "struct TORCH_CUDA_CPP_API MUSAGraph" in (root / graph).read_text(encoding="utf-8")
    assert "struct TORCH_CUDA_CPP_API CUDAGraph" in (generated / "ATen/musa/MUSAGraph.h").read_text(encoding="utf-8")


def test_a_header_brings_along_only_what_the_real_one_does() -> None:
    """Nothing that PyTorch's own lacks, and no events where torch_musa's context has none."""
    original = find_torch().folder / "include" / "ATen/cuda/PhiloxUtils.cuh"
    philox = Path(torch_headers.folders()[0], "ATen/musa/PhiloxUtils.muh")
    included = [path.read_text(encoding="utf-8").count("#include") for path in (original, philox)]
    assert included[0] == included[1] > 0
    assert "MUSAEvent.h" not in (PACKAGE / "csrc/aten/musa/MUSAContext.h").read_text(encoding="utf-8")


def test_no_kernel_is_generated_at_run_time() -> None:
    text = Path(torch_headers.folders()[0], torch_headers._JIT).read_text(encoding="utf-8")
    assert "#define AT_USE_JITERATOR() false" in text and "<ATen/musa/MUSAConfig.h>" in text
