"""The tables against the names in torch_musa's and torchada 0.1.103's, and against what the adapter knows of libraries."""

from __future__ import annotations

import json
import lzma
import re
from pathlib import Path

import pytest

import torchada
from support.differences import DIFFERENT, HEADERS, PREFIXES, is_deliberate
from torchada.backends.musa import MUSA
from torchada.porting import Names, port_source
from torchada.porting.rules import LIBRARIES, build
from torchada.porting.rules.dispatch import DISPATCH_KEYS
from torchada.porting.symbols import FILE, folded, known
from torchada.porting.versions import LIBRARY_MACROS

pytestmark = pytest.mark.once

GROUPS = json.loads(lzma.decompress(Path(__file__).with_name("symbols.json.xz").read_bytes()))["groups"]
IDENTIFIERS = sorted(set(GROUPS) - {"headers", "build_libs"})
NAMES = Names()


@pytest.mark.parametrize("group", IDENTIFIERS)
def test_every_name_of_the_tables_comes_out(group: str) -> None:
    """Each in a source of its own line, so through the lexer too."""
    pairs = [(old, new) for old, new in GROUPS[group].items() if not is_deliberate(old)]
    ported = port_source("\n".join(old for old, _ in pairs).encode()).text.decode().split("\n")
    expected = [_of_ours(old, new) for old, new in pairs]
    assert [each for each in zip(pairs, ported, expected) if each[1] != each[2]] == []


def _of_ours(old: str, new: str) -> str:
    """Comparisons of versions have no number here, those of libraries are numbers, and qualified names come by their parts."""
    return {"CUDA_VERSION": "MUSA_VERSION"}.get(old, str(LIBRARY_MACROS.get(old, new)))


def test_every_header_of_the_tables_comes_out() -> None:
    """Those of PyTorch as torch_musa's tool leads them (test_headers.py), which is not always as its tables do."""
    found = {old: port_source(_include(old)).text for old in GROUPS["headers"]}
    assert {old for old, new in GROUPS["headers"].items() if found[old] != _include(new)} == set(HEADERS)


def _include(path: str) -> bytes:
    return f"#include <{path}>\n".encode()


# What setup.py and CMake say. It stays: torchada builds a CUDAExtension as it is, and the porter does not touch build files.
STAYS_IN_BUILDS = frozenset({
    "CUDAExtension", "CUDA_HOME", "NVJPEG_FOUND", "cuda_sources", "extra_cuda_cflags", "nvcc", "nvcc_dlink", "with_cuda",
})  # fmt: skip


def test_every_library_and_suffix_of_builds_comes_out() -> None:
    tables = {**build.LINKED_LIBRARIES, **build.SUFFIXES}
    assert {old: tables.get(old) for old in GROUPS["build_libs"].keys() - STAYS_IN_BUILDS} == {
        old: new for old, new in GROUPS["build_libs"].items() if old not in STAYS_IN_BUILDS
    }
    assert GROUPS["build_libs"].keys() > STAYS_IN_BUILDS


def test_deliberate_differences_are_differences() -> None:
    """And each names something in the tables: the list does not outlive its reasons."""
    known = {old: new for group in IDENTIFIERS for old, new in GROUPS[group].items()}
    for name in DIFFERENT:
        assert port_source(name.encode()).text.decode() != known[name], name
    assert all(any(name.startswith(prefix) for name in known) for prefix in PREFIXES)


def test_nothing_is_translated_twice() -> None:
    for group in IDENTIFIERS:
        text = "\n".join(GROUPS[group]).encode()
        once = port_source(text).text
        assert port_source(once).text == once


@pytest.mark.parametrize("library", sorted(MUSA.native.libraries))
def test_the_adapter_and_the_porter_say_the_same_of_libraries(library: str) -> None:
    native = MUSA.native.libraries[library]
    assert build.LINKED_LIBRARIES[library] == native.name
    for cuda, musa in native.prefixes.items():
        assert NAMES.spelled(f"{cuda}Create") == f"{musa}Create"
    for cuda, musa in native.renames.items():
        answer = NAMES.identifier(cuda)
        assert answer is not None and answer.name == musa


def test_the_adapter_and_the_porter_say_the_same_of_dispatch_keys() -> None:
    assert MUSA.names.dispatch_keys == DISPATCH_KEYS


def test_public_converters_agree_with_the_porter() -> None:
    for name in ("cudaMalloc", "ncclAllReduce", "cublasCreate", "curandCreateGenerator"):
        converters = (torchada.cuda_to_musa_name, torchada.nccl_to_mccl_name, torchada.cublas_to_mublas_name)
        expected = {convert(name) for convert in (*converters, torchada.curand_to_murand_name)} - {name}
        answer = NAMES.identifier(name)
        assert answer is not None and {answer.name} == expected


def test_every_table_has_a_title_of_its_own() -> None:
    assert len({library.title for library in LIBRARIES}) == len(LIBRARIES)


@pytest.mark.parametrize(
    "name",
    [
        "cudaGridDependencySynchronize",
        "cuTensorMapEncodeTiled",
        "cuMulticastCreate",
        "__nv_fp4_e2m1",
        "cudaGraphConditionalHandle",
        "nvshmem_int_min_reduce",
        "nvshmemx_putmem_nbi_warp",
        "NVSHMEM_TEAM_WORLD",
    ],
)
def test_a_name_without_counterpart_has_a_reason(name: str) -> None:
    answer = NAMES.identifier(name)
    assert answer is not None and answer.name is None and answer.reason and answer.library


@pytest.mark.parametrize(
    "name", ["cudaLaunchKernelExV", "cuLaunchKernelEx", "cudaGraphAddNode", "cublasSgemm_v2_64", "CUDNN_POINTWISE_EXP"]
)
def test_a_name_of_cudas_that_no_table_has_stays_and_is_reported(name: str) -> None:
    result = port_source(f"\n  {name}(x);".encode())
    if name == "cudaLaunchKernelExV":
        assert not result.findings, "and one that is not CUDA's is the project's own"
    else:
        assert [(each.line, each.column, each.name) for each in result.unported] == [(2, 3, name)]
    assert name.encode() in result.text


OWN = (
    "cudaCheckCalls cudaStatus cuSeqlens cudnnHandlePool cublasWrapper CU_CHECK cutlass_dtype ncclless cufftPlanCache "
    "nvshmem_status"
)
GGML = {
    "cublasComputeType_t": "musaDataType_t",
    "CUBLAS_COMPUTE_16F": "MUSA_R_16F",
    "CUBLAS_COMPUTE_32F": "MUSA_R_32F",
    "CUBLAS_COMPUTE_32F_FAST_16F": "MUBLAS_COMPUTE_32F_FAST_16F",
    "CUBLAS_GEMM_DEFAULT_TENSOR_OP": "MUBLAS_GEMM_DEFAULT",
    "CUBLAS_TF32_TENSOR_OP_MATH": "MUBLAS_TENSOR_OP_MATH",
    "CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED": "MU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED",
    "cudaStreamFireAndForget": "musaStreamFireAndForget",
    "nv_bfloat162": "__mt_bfloat162",
}


@pytest.mark.parametrize("name", OWN.split())
def test_a_projects_own_name_stays_even_if_it_begins_as_cudas_do(name: str) -> None:
    result = port_source(name.encode())
    assert result.text == name.encode() and not result.findings


@pytest.mark.parametrize("name", GGML)
def test_names_follow_ggml_which_runs_on_hardware(name: str) -> None:
    assert port_source(name.encode()).text == GGML[name].encode()


def test_clusters_have_a_name_that_the_vendors_transformer_engine_uses_and_the_rest_of_them_has_none() -> None:
    result = port_source(
        b"a.id = cudaLaunchAttributeClusterDimension; b.id = cudaLaunchAttributeClusterSchedulingPolicyPreference;"
    )
    assert b"a.id = musaLaunchAttributeClusterDimension;" in result.text
    assert [each.name for each in result.unported] == ["cudaLaunchAttributeClusterSchedulingPolicyPreference"]


def test_known_names_are_those_of_the_tables() -> None:
    """The file that the porter reads and the vendor's tables say the same, and folding loses nothing."""
    names = {name for group in IDENTIFIERS for name in GROUPS[group]}
    closed = [re.compile("|".join(library.names)) for library in LIBRARIES if library.is_closed]
    assert {name for name in names if any(each.fullmatch(name) for each in closed)} <= known().translated
    assert not known().translated & known().lacking and not names & known().lacking
    assert "\n\n".join(folded(sorted(each)) for each in known()) + "\n" == FILE.read_text(encoding="utf-8")


ORDINARY = "current cuda_kernel scatter_cuda cube accumulate OCCUPANCY nvec cudagraph cum_sum customKernel CUBE_SIZE nvtxs nppixels"
MACROS = "WITH_CUDA USE_CUDA CUDA_KERNEL_ASSERT CUDA_HAS_FP16 TORCH_CUDA_CU_API MMCV_WITH_CUDA"


@pytest.mark.parametrize("name", [*ORDINARY.split(), *MACROS.split()])
def test_names_that_are_not_cudas_stay(name: str) -> None:
    assert port_source(name.encode()).text == name.encode()
