"""Textures and memory of three dimensions, as kernels and programs of CUDA use them."""

from __future__ import annotations

import pytest
import torch

from support.device_code import Kernels, compile_kernels

pytestmark = [pytest.mark.once, pytest.mark.full]

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


def test_references_that_a_program_binds(kernels: Kernels) -> None:
    out = torch.full((3,), -1.0)
    kernels.run("fetched_by_reference", torch.arange(4.0), torch.tensor([0, 255, 0, 0], dtype=torch.uint8), out)
    assert out.tolist() == [3, 1, 0]


def test_a_device_says_what_textures_need(kernels: Kernels) -> None:
    out = torch.full((5,), -1, dtype=torch.int32)
    kernels.run("described", out)
    assert out.tolist() == [1, 512, 0, 512, 0]


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
