"""Memory in the order of streams: pools, what they hold, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from support import memcheck
from support.device_code import BY_NVCC, Kernels, compile_kernels

pytestmark = pytest.mark.once

SUCCESS, INVALID_VALUE, NO_MEMORY, INVALID_DEVICE = 0, 1, 2, 101
BYTES = (5 << 20) + 1


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_kernels("pools.mu", tmp_path_factory.mktemp("pools"))


def numbers(library: Path, entry: str, count: int, argument: int = 0) -> list[int]:
    found = torch.full((count,), -1)
    Kernels(library).run(entry, found, argument)
    return found.tolist()


def test_blocks_are_used_in_the_order_of_streams(library: Path) -> None:
    sums = torch.zeros(4096, dtype=torch.int32)
    Kernels(library).run("run_order", sums, 20)
    assert torch.equal(sums, torch.arange(4096, dtype=torch.int32) * 20 + 190)


def test_a_pool_counts_what_it_holds_and_what_is_used(library: Path) -> None:
    none, one, freed, kept, held, trimmed = torch.tensor(numbers(library, "run_amounts", 24, BYTES)).view(6, 4).tolist()
    assert none == [0] * 4
    for reserved, most_reserved, used, most_used in (one, kept):
        assert BYTES <= used <= reserved and most_used == used and most_reserved == reserved
    assert freed == [0, one[1], 0, one[3]]
    assert held == [kept[0], kept[1], 0, kept[3]]  # its threshold is above that
    assert trimmed == [0] * 4


@pytest.mark.parametrize("way", [0, 1, 2], ids=["stream", "event", "device"])
def test_what_a_pool_holds_goes_back_when_the_host_waits(library: Path, way: int) -> None:
    held, after = numbers(library, "run_held", 2, way)
    assert held >= 64 << 20 and after <= 0


def test_another_pool_is_used_until_it_is_destroyed(library: Path) -> None:
    assert numbers(library, "run_current", 8, BYTES) == [True, SUCCESS, True, True, SUCCESS, True, SUCCESS, SUCCESS]


def test_settings_are_kept_and_the_device_has_access(library: Path) -> None:
    assert numbers(library, "run_settings", 8) == [1, 0, 1, 0, 1, 0, SUCCESS, 3]


def test_errors(library: Path) -> None:
    wrong = [INVALID_VALUE] * 3 + [INVALID_DEVICE] + [INVALID_VALUE] * 4
    assert numbers(library, "run_errors", 13) == [*wrong, NO_MEMORY, INVALID_VALUE, SUCCESS, INVALID_VALUE, SUCCESS]


@pytest.mark.skipif(BY_NVCC, reason="the checker of memory is the simulator's")
@pytest.mark.parametrize(
    ("entry", "kernel", "mark", "kind"),
    [
        ("past_end", "number", "past the end", "write out of bounds"),
        ("freed", "add", "after it was freed", "read after free"),
    ],
)
def test_the_checker_of_memory_knows_their_blocks(
    tmp_path: Path, entry: str, kernel: str, mark: str, kind: str
) -> None:
    library = memcheck.compiled("pools.mu", tmp_path)
    assert memcheck.findings(memcheck.run(library, entry, 0).stderr) == []
    found = memcheck.findings(memcheck.run(library, entry, 1).stderr)
    assert found and found[0].kind == kind and found[0].kernel == kernel
    assert found[0].where[0].endswith(f"pools.mu:{memcheck.planted('pools.mu', kernel, mark)}")


@pytest.mark.skipif(BY_NVCC, reason="the checker of leaks is the simulator's")
def test_a_block_that_is_not_freed_is_a_leak(tmp_path: Path) -> None:
    library = memcheck.compiled("pools.mu", tmp_path, "0")
    assert memcheck.run(library, "freed", 0, "0", MUSASIM_LEAKCHECK="1").stderr == ""
    said = memcheck.run(library, "leaked", 5, "0", MUSASIM_LEAKCHECK="1").stderr
    assert "musasim: leak: 5 bytes on device 0 were not freed" in said
