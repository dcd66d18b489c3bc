"""Textures and memory of three dimensions, as kernels and programs of CUDA use them."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from support.device_code import BY_NVCC, Kernels, compile_kernels

pytestmark = [pytest.mark.once, pytest.mark.full]
of_cuda_11 = pytest.mark.skipif(
    BY_NVCC, reason="CUDA 12 has no texture references, and CUDA 13 no cudaThreadSynchronize"
)

WRAP, CLAMP, MIRROR, BORDER = range(4)
POINT, LINEAR = range(2)
PICTURE = torch.tensor([[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]])


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return Kernels(compile_kernels("textures.mu", tmp_path_factory.mktemp("textures")))


def sampled(
    kernels: Kernels, places: list[tuple[float, float]], mode: int, filtered: int, normalized: int
) -> list[float]:
    out = torch.zeros(len(places))
    kernels.run("sampled", PICTURE, torch.tensor(places), out, len(places), mode, filtered, normalized)
    return out.tolist()


def test_elements_of_linear_memory_by_number(kernels: Kernels) -> None:
    out = torch.full((7,), -1.0)
    kernels.run("fetched", torch.arange(4.0), torch.tensor([0, 255], dtype=torch.uint8), out)
    assert out.tolist() == [2, 0, 0, 1, 0, 2, 3]  # beyond the memory there is zero


def test_a_place_names_the_element_that_it_lies_in(kernels: Kernels) -> None:
    places = [(0.0, 0.0), (2.9, 1.9), (1.5, 0.5), (-3.0, 0.0), (7.0, 9.0)]
    assert sampled(kernels, places, CLAMP, POINT, 0) == [0, 12, 1, 0, 12]
    assert sampled(kernels, places, BORDER, POINT, 0) == [0, 12, 1, 0, 0]


def test_wrapping_and_mirroring_are_for_normalized_places(kernels: Kernels) -> None:
    places = [(1.1, 0.1), (-0.1, 0.1), (1.1, 1.1)]
    assert sampled(kernels, places, WRAP, POINT, 1) == [0, 2, 0]
    assert sampled(kernels, places, MIRROR, POINT, 1) == [2, 0, 12]
    assert sampled(kernels, [(4.0, 0.0)], WRAP, POINT, 0) == [2]  # clamped


def test_between_the_centres_of_elements_is_their_mean(kernels: Kernels) -> None:
    places = [(0.5, 0.5), (1.0, 0.5), (1.0, 1.0), (0.75, 0.5), (0.0, 0.0)]
    assert sampled(kernels, places, CLAMP, LINEAR, 0) == [0, 0.5, 5.5, 0.25, 0]
    # The weights of a GPU have eight bits after the point.
    assert sampled(kernels, [(0.5 + 1 / 1024, 0.5)], CLAMP, LINEAR, 0) == [0]


@of_cuda_11
def test_references_that_a_program_binds(kernels: Kernels) -> None:
    out = torch.full((3,), -1.0)
    kernels.run("fetched_by_reference", torch.arange(4.0), torch.tensor([0, 255, 0, 0], dtype=torch.uint8), out)
    assert out.tolist() == [3, 1, 0]


def test_a_device_says_what_textures_need(kernels: Kernels) -> None:
    out = torch.full((5,), -1, dtype=torch.int32)
    kernels.run("described", out)
    assert out.tolist() == [1, 512, 0, 512, 0]


@of_cuda_11
def test_the_device_is_waited_for_by_its_old_name(kernels: Kernels) -> None:
    kernels.run("synchronized")


def test_a_box_is_copied_into_the_middle_of_a_larger_one(kernels: Kernels) -> None:
    given = torch.arange(24, dtype=torch.uint8)
    out, whole = torch.zeros(24, dtype=torch.uint8), torch.zeros(3, 5, 8, dtype=torch.uint8)
    kernels.run("box", given, out, whole)
    expected = torch.full((3, 5, 8), 7, dtype=torch.uint8)
    expected[1:3, 1:4, 2:6] = given.view(2, 3, 4)
    assert torch.equal(out, given)
    assert torch.equal(whole, expected)


def test_arrays_are_sampled_in_each_of_their_dimensions_and_not_between_layers(kernels: Kernels) -> None:
    out = torch.zeros(6)
    kernels.run("sampled_arrays", torch.tensor([1.0, 2.0, 9.0]), torch.arange(8.0), out)
    assert out.tolist() == [1.5, 9, 3.5, 5, 4.5, 7]


def test_surfaces_are_read_and_written_by_the_byte(kernels: Kernels) -> None:
    picture = torch.arange(24, dtype=torch.uint8).reshape(2, 3, 4)
    out = torch.full((4, 2, 4), 7, dtype=torch.uint8)
    kernels.run("turned", picture, out)
    assert out[:3].equal(picture.flip(2).transpose(0, 1))
    # Beyond the last column there is zero, and the nearest element of column -1 in row 2 is the first of row 1.
    assert out[3, 0].tolist() == [0, 12, 13, 1]


def test_arrays_say_what_they_are_and_refuse_what_does_not_fit(kernels: Kernels) -> None:
    out = torch.zeros(9, dtype=torch.int32)
    kernels.run("refused_of_arrays", out)
    assert out.tolist() == [16, 16, 530, *[1] * 6]


def test_writing_beyond_a_surface_ends_the_kernel(kernels: Kernels) -> None:
    """In a process of its own, for the device takes no further work after a fault."""
    code = f"import ctypes; print(ctypes.CDLL({str(kernels.library)!r}).trapped())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["700"]
    assert BY_NVCC or "outside of its array" in done.stderr
