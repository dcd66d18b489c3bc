"""MUSASIM_SEED: blocks and warps run in any order, and the same number repeats it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.memcheck import compiled, run

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("between_blocks.mu", tmp_path_factory.mktemp("seed"), memcheck="0")


def answer(library: Path, kernel: str, seed: str, shift: int = 1) -> str:
    return run(library, kernel, shift, "0", MUSASIM_SEED=seed).stdout


def test_a_result_that_depends_on_the_order_varies_with_the_seed(plain: Path) -> None:
    in_order = run(plain, "chain", 1, "0").stdout
    assert in_order.startswith("0 [1.0, 3.0, 6.0, 10.0")
    answers = {seed: answer(plain, "chain", seed) for seed in ("1", "2", "3")}
    assert in_order not in answers.values()
    assert len(set(answers.values())) == 3
    assert answer(plain, "chain", "2") == answers["2"]


@pytest.mark.parametrize("kernel", ["last_block", "guarded", "counts", "shared_of_each"])
def test_a_right_kernel_gives_the_same_in_any_order(plain: Path, kernel: str) -> None:
    expected = run(plain, kernel, 0, "0").stdout
    assert answer(plain, kernel, "1", 0) == expected
    assert answer(plain, kernel, "5", 0) == expected


def test_a_random_order_says_the_seed_that_repeats_it(plain: Path) -> None:
    done = run(plain, "chain", 1, "0", MUSASIM_SEED="random")
    said = re.fullmatch(r"musasim: kernels run in the order of MUSASIM_SEED=(\d+)\n", done.stderr)
    assert said is not None
    assert answer(plain, "chain", said[1]) == done.stdout


def test_a_fault_says_the_seed_that_repeats_it(plain: Path) -> None:
    done = run(plain, "much_shared", 1, "0", MUSASIM_SEED="7")
    assert "musasim: MUSASIM_SEED=7 repeats this order\n" in done.stderr


def test_what_is_no_seed_is_named(plain: Path) -> None:
    done = run(plain, "chain", 1, "0", MUSASIM_SEED="-1")
    assert done.stderr == (
        "musasim: MUSASIM_SEED=-1 is neither a number nor 'random'; kernels run in the order of their numbers\n"
    )
    assert done.stdout == run(plain, "chain", 1, "0").stdout
