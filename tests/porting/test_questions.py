"""What a source asks: whether there is CUDA, which compiler it is for, what the kernel before has done."""

from __future__ import annotations

import pytest

from torchada.porting import CHECK, UNPORTED, port_source

pytestmark = pytest.mark.once

THERE = "(c10::musa::device_count() > 0)"
HEADER = "torch_musa/csrc/core/MUSAFunctions.h"


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("torch::cuda::is_available()", THERE),
        ("::torch::cuda::is_available ( )", THERE),
        ("torch::cuda::device_count()", "c10::musa::device_count()"),
        ("f(&torch::cuda::device_count)", "f(&c10::musa::device_count)"),
        ("torch::cuda::synchronize()", "c10::musa::device_synchronize()"),
        ("at::hasCUDA()", THERE),
        ("::at::globalContext().hasCUDA()", THERE),
        ("globalContext() . hasCUDA()", THERE),
    ],
)
def test_whether_there_is_a_device_is_asked_of_what_torch_musa_has(asked: str, answered: str) -> None:
    result = port_source(f"bool b = {asked};\n".encode())
    assert result.text.decode() == f"bool b = {answered};\n"
    assert result.lost == (HEADER,) and not result.findings


def test_the_header_of_these_functions_is_the_one_that_has_them() -> None:
    assert port_source(b"#include <torch/cuda.h>\n").text == f"#include <{HEADER}>\n".encode()


@pytest.mark.parametrize(
    ("name", "said", "header"),
    [
        ("manual_seed", "getDefaultMUSAGenerator()", "aten/musa/MUSAGeneratorImpl.h"),
        ("manual_seed_all", "getDefaultMUSAGenerator(at)", "aten/musa/MUSAGeneratorImpl.h"),
        ("synchronize", "c10::musa::device_synchronize()", "core/MUSAGuard.h"),
    ],
)
def test_what_is_called_with_an_argument_is_said_in_its_place(name: str, said: str, header: str) -> None:
    result = port_source(f"f(1), torch::cuda::{name} (g(x, 2));".encode())
    new = result.text.decode()
    assert new.startswith("f(1), ([](") and new.endswith("}) (g(x, 2));") and said in new
    assert result.lost == (f"torch_musa/csrc/{header}",) and not result.findings
    assert port_source(result.text).text == result.text


@pytest.mark.parametrize("asked", ["&torch::cuda::manual_seed", "torch::cuda::cudnn_is_available()"])
def test_a_function_without_counterpart_stays_and_is_reported(asked: str) -> None:
    result = port_source(asked.encode())
    assert result.text.decode() == asked and [each.kind for each in result.findings] == [UNPORTED]
    assert "torch_musa has no function of this name" in result.findings[0].reason


def test_what_the_backend_has_under_cudas_namespace_is_translated_as_before() -> None:
    source = b"torch::cuda::_record_memory_history(x);"
    assert port_source(source).text == source.replace(b"torch::cuda::_", b"torch::musa::_")


def test_a_context_in_a_variable_is_reported_and_a_function_of_ones_own_is_not() -> None:
    asked = port_source(b"auto& context = at::globalContext(); return context.hasCUDA();")
    assert [(each.kind, each.name) for each in asked.findings] == [(CHECK, "hasCUDA")]
    own = b"at::Tensor t; struct S { bool hasCUDA(); }; S s; bool b = s.hasCUDA();"
    assert port_source(own).text == own and not port_source(own).findings


def test_the_part_of_a_key_set_is_translated() -> None:
    asked = port_source(b"t.key_set().has_backend(c10::BackendComponent::CUDABit) || Own::CUDABit;")
    assert asked.text == b"t.key_set().has_backend(c10::BackendComponent::PrivateUse1Bit) || Own::CUDABit;"


def test_nvcc_means_a_compiler_for_gpus_unless_its_version_is_asked_for() -> None:
    """Eigen takes nvcc's way where __NVCC__ is defined, asks for nvcc's version, and stops without one; mcc is clang."""
    assert port_source(b"#ifdef __NVCC__\n#define HD __host__ __device__\n#endif\n").text.startswith(
        b"#ifdef __MUSACC__\n"
    )
    asks = b"#if defined(__NVCC__)\n#if !defined(__CUDACC_VER_MAJOR__)\n#error\n#endif\n#endif\n"
    result = port_source(asks)
    assert result.text == asks.replace(b"__CUDACC", b"__MUSACC")
    assert [(each.kind, each.name) for each in result.findings] == [
        (CHECK, "__NVCC__"),
        (CHECK, "__CUDACC_VER_MAJOR__"),
    ]


def test_a_kernel_need_not_wait_for_the_one_before_it() -> None:
    """As for `griddepcontrol` of PTX, which is the same."""
    result = port_source(b"if (x) cudaGridDependencySynchronize(); else cudaTriggerProgrammaticLaunchCompletion ( );")
    assert result.text == b"if (x) ((void)0); else ((void)0);" and not result.findings
    taken = port_source(b"auto f = &cudaGridDependencySynchronize;")
    assert [(each.kind, each.name) for each in taken.findings] == [(UNPORTED, "cudaGridDependencySynchronize")]


def test_cufile_is_mufile_and_is_reported_as_known_by_its_names_only() -> None:
    source = b"""#include <cufile.h>
CUfileDescr_t d; d.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD; b.opcode = CUFILE_READ;
cuFileDriverOpen().err == CU_FILE_NVFS_DRIVER_ERROR;
"""
    result = port_source(source)
    assert result.text == source.replace(b"cufile.h", b"mufile.h").replace(b"CU_FILE", b"MU_FILE").replace(
        b"CUFILE", b"MUFILE"
    ).replace(b"CUfile", b"MUfile").replace(b"cuFile", b"muFile").replace(b"NVFS", b"MTFS")
    assert {each.kind for each in result.findings} == {CHECK}
    own = b"cuFilename(CUFILENAME, cufile)"
    assert port_source(own).text == own


def test_a_cooperative_launch_has_its_attribute() -> None:
    assert port_source(b"a.id = cudaLaunchAttributeCooperative;").text == b"a.id = musaLaunchAttributeCooperative;"
