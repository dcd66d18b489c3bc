"""What libcu++ has for threads that wait for each other: atomic objects, barriers, latches, semaphores and pipelines."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from support import memcheck
from support.device_code import BY_NVCC, Kernels, compile_kernels

pytestmark = pytest.mark.once

BLOCK = 64


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_kernels("waiting.mu", tmp_path_factory.mktemp("waiting"))


def numbers(count: int) -> torch.Tensor:
    return torch.randint(-1000, 1000, (count,), generator=torch.Generator().manual_seed(1), dtype=torch.int32)


def test_atomic_references_change_what_others_see(library: Path) -> None:
    values, found = numbers(4 * BLOCK), torch.zeros(6, dtype=torch.int32)
    Kernels(library).run("run_update", values, found, len(values))
    bits = 0
    for value in values.tolist():
        bits ^= value
    first = found[4].item()
    assert found.tolist() == [values.sum(), bits, values.min(), values.max(), first, 1]
    assert first - 1 in values


def test_a_thread_waits_for_what_another_one_stores(library: Path) -> None:
    values = torch.zeros(BLOCK, dtype=torch.int32)
    Kernels(library).run("run_hand_down", values, 0)
    assert values.tolist() == [*range(BLOCK, 0, -1)]


def test_a_barrier_in_shared_memory_ends_copies_round_after_round(library: Path) -> None:
    values, sums = numbers(5 * BLOCK), torch.zeros(BLOCK, dtype=torch.int32)
    Kernels(library).run("run_neighbours", values, sums, 5)
    assert torch.equal(sums, values.view(5, BLOCK).roll(-1, 1).sum(0).int())


def test_one_thread_at_a_time_gets_past_a_semaphore_and_all_past_a_latch(library: Path) -> None:
    count, seen = torch.zeros(1, dtype=torch.int32), torch.zeros(BLOCK, dtype=torch.int32)
    Kernels(library).run("run_one_at_a_time", count, seen, 0)
    assert count.item() == BLOCK and seen.tolist() == [BLOCK] * BLOCK


@pytest.mark.parametrize("apart", [0, 1], ids=["all fill and use", "some fill"])
def test_stages_of_a_pipeline_are_used_when_they_are_filled(library: Path, apart: int) -> None:
    values, sums = numbers(7 * BLOCK), torch.zeros(BLOCK, dtype=torch.int32)
    Kernels(library).run("run_stages", values, sums, 7, apart)
    columns = values.view(7, BLOCK).sum(0)
    places = torch.arange(BLOCK)
    expected = (columns * (places + places[:, None])).sum(1).int()
    expected[: 32 * apart] = 0
    assert torch.equal(sums, expected)


def test_a_wait_at_a_barrier_may_end_before_all_have_come(library: Path) -> None:
    ended = torch.full((5,), -1, dtype=torch.int32)
    Kernels(library).run("run_try_to_wait", ended, 0)
    assert ended.tolist() == [0, 1, 0, 1, 1]


def test_the_last_at_a_barrier_calls_its_function(library: Path) -> None:
    seen = torch.zeros(BLOCK, dtype=torch.int32)
    Kernels(library).run("run_count_rounds", seen, 5)
    assert seen.tolist() == [5] * BLOCK


def test_an_atomic_pointer_goes_on_by_elements(library: Path) -> None:
    places, left = torch.zeros(BLOCK, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    Kernels(library).run("run_take_places", places, left, 0)
    expected = torch.ones(BLOCK, dtype=torch.int32)
    expected[BLOCK // 2 - 2] = 7
    assert (left.item(), places.tolist()) == (BLOCK // 2, expected.tolist())


def test_one_thread_is_the_last_to_leave_a_pipeline(library: Path) -> None:
    last = torch.full((BLOCK,), -1, dtype=torch.int32)
    Kernels(library).run("run_leave", last, 0)
    assert sorted(last.tolist()) == [0] * (BLOCK - 1) + [1]


@pytest.mark.skipif(BY_NVCC, reason="the checker of memory is the simulator's")
@pytest.mark.parametrize(("entry", "argument"), [("hand_down", 0), ("neighbours", 1)])
def test_the_checker_of_memory_takes_them_for_what_orders_threads(tmp_path: Path, entry: str, argument: int) -> None:
    done = memcheck.run(memcheck.compiled("waiting.mu", tmp_path), entry, argument)
    assert (done.returncode, memcheck.findings(done.stderr)) == (0, [])
