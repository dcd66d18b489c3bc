"""What kernels may rely on beyond the C++ standard holds in optimised code: types, overflow, loops, alignment, contraction."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from musasim import toolkit
from support.device_code import BY_NVCC, Kernels, compile_kernels

pytestmark = pytest.mark.once

LARGEST = torch.iinfo(torch.int32).max


@pytest.fixture(scope="module", params=["-O2", "-O3"])
def kernels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return Kernels(compile_kernels("guarantees.mu", tmp_path_factory.mktemp("guarantees"), request.param))


def test_a_number_that_was_stored_as_another_type_is_read_back(kernels: Kernels) -> None:
    assert kernels.map("reinterpreted", torch.float32, torch.zeros(8)).tolist() == [2.0] * 8


def test_a_vector_shows_what_was_stored_to_its_elements(kernels: Kernels) -> None:
    result = torch.zeros(4, dtype=torch.int32)
    kernels.run("vectors", result)
    assert result.tolist() == [93, 94, 95, 96]


def test_a_class_gives_the_name_of_a_template_to_an_instance(kernels: Kernels) -> None:
    assert kernels.map("renamed", torch.int32, torch.tensor([1, 21], dtype=torch.int32)).tolist() == [2, 42]


@pytest.mark.skipif(BY_NVCC, reason="the simulator's choice: nvcc takes overflow of signed integers for impossible")
def test_whole_numbers_wrap(kernels: Kernels) -> None:
    values = torch.tensor([0, LARGEST - 1, LARGEST], dtype=torch.int32)
    assert kernels.map("grows", torch.int32, values).tolist() == [1, 1, 0]
    assert kernels.map("steps", torch.int32, values).tolist() == [3, 3, 10], "a counter beyond the largest goes on"


def test_a_loop_over_a_member_may_go_on_with_the_next_one(kernels: Kernels) -> None:
    values, sums = torch.arange(1, 9, dtype=torch.int32), torch.zeros(8, dtype=torch.int32)
    kernels.run("members", values, sums)
    assert sums.tolist() == values.cumsum(0).tolist()


def test_memory_is_aligned_as_on_a_device(kernels: Kernels) -> None:
    offsets = torch.ones(4, dtype=torch.int64)
    kernels.run("addresses", offsets)
    assert offsets.tolist() == [0] * 4


@pytest.mark.full
@pytest.mark.skipif(BY_NVCC, reason="the limit of processor time that ends it does not reach a GPU")
def test_a_kernel_that_never_ends_is_not_optimised_away(tmp_path: Path) -> None:
    library = compile_kernels("guarantees.mu", tmp_path, "-O3")
    program = f"""
import ctypes, resource
resource.setrlimit(resource.RLIMIT_CPU, (2, 3))
ctypes.CDLL({str(library)!r}).endless()
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=120, capture_output=True, check=False)
    assert done.returncode == -signal.SIGXCPU, done.stderr


def compiled_by(*options: str) -> str:
    """The command that compiles what was preprocessed."""
    source = Path(__file__).parent / "device" / "guarantees.mu"
    command = [str(toolkit.home() / "bin" / "mcc"), "-v", "-c", str(source), "-o", "/dev/null", "-O0", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return next(line for line in done.stderr.splitlines() if "c++-cpp-output" in line)


def test_the_command_line_has_the_last_word() -> None:
    words = compiled_by("-fstrict-aliasing").split()
    assert words.index("-fno-strict-aliasing") < words.index("-fstrict-aliasing")


@pytest.mark.parametrize("choice", ["off", "fast"])
def test_contraction_is_as_asked_for(choice: str) -> None:
    assert f"-ffp-contract={choice}" in compiled_by(f"-ffp-contract={choice}").split()
