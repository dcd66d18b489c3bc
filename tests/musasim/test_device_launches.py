"""Launches with a configuration and attributes, and CUB's comparisons of neighbours, on the simulated device."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
import torch

from support.device_code import BY_NVCC, Kernels, compile_kernels

pytestmark = pytest.mark.once

TILE = 240

of_mp_31 = pytest.mark.skipif(BY_NVCC, reason="a GPU of NVIDIA's that has clusters takes them")
IGNORE, COOPERATIVE, PRIORITY, CLUSTER, PREFERRED_CLUSTER = 0, 2, 8, 4, 11
INVALID_VALUE, NOT_SUPPORTED, FAILED = 1, 801, 719


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_kernels("launches.mu", tmp_path_factory.mktemp("launches"))


def test_heads_and_tails_are_where_neighbours_differ(library: Path) -> None:
    items = torch.randint(0, 3, (TILE,), generator=torch.Generator().manual_seed(3), dtype=torch.int32)
    heads, tails, both = torch.zeros(3, TILE, dtype=torch.int32)
    Kernels(library).run("run_neighbours", items, heads, tails, both)
    differs = (items[1:] != items[:-1]).int()
    first, last = torch.ones(1, dtype=torch.int32), torch.ones(1, dtype=torch.int32)
    assert torch.equal(heads, torch.cat([first, differs]))
    even = (torch.arange(1, TILE) % 2 == 0).int()
    assert torch.equal(tails, torch.cat([differs * even, last]))
    assert torch.equal(both, torch.cat([0 * first, differs]) + 2 * torch.cat([differs, last]))


@pytest.mark.parametrize("by_address", [0, 1])
def test_a_launch_with_a_configuration_is_cooperative_on_request(library: Path, by_address: int) -> None:
    """Arguments are converted to the kernel's parameters: 2 to a float, a long to an int."""
    values = torch.tensor([5, 0, 0, 0])
    Kernels(library).run("run_launch", values, 4, COOPERATIVE, 1, by_address)
    assert values.tolist() == [5, 11, 24, 51]


@of_mp_31
def test_an_attribute_that_the_device_does_not_have_is_refused(library: Path) -> None:
    values = torch.tensor([5, 0])
    launch = ctypes.CDLL(str(library)).run_launch
    arguments = [ctypes.c_void_p(values.data_ptr()), ctypes.c_long(2)]
    assert launch(*arguments, ctypes.c_long(PREFERRED_CLUSTER), ctypes.c_long(2), ctypes.c_long(0)) == NOT_SUPPORTED
    assert values.tolist() == [5, 0]


@of_mp_31
@pytest.mark.parametrize(("blocks", "answer"), [(1, 0), (2, NOT_SUPPORTED), (0, INVALID_VALUE)])
def test_a_cluster_has_one_block(library: Path, blocks: int, answer: int) -> None:
    values = torch.tensor([5])
    launch = ctypes.CDLL(str(library)).run_launch
    arguments = [ctypes.c_void_p(values.data_ptr()), ctypes.c_long(1), ctypes.c_long(CLUSTER), ctypes.c_long(blocks)]
    assert launch(*arguments, ctypes.c_long(1)) == answer


def test_managed_memory_needs_no_flags(library: Path) -> None:
    value = torch.tensor([41], dtype=torch.int32)
    Kernels(library).run("run_managed", value)
    assert value.item() == 42
