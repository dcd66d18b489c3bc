"""Random programs give the numbers of the CPU. The seeds are fixed; `python -m support.program_fuzz` runs others."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from support import program_fuzz

PROGRAMS = 150


@pytest.fixture(autouse=True)
def _collections_of_what_is_new() -> Iterator[None]:
    """Each capture collects garbage. What other tests have left in the process, compilers and all, is not looked at each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.filterwarnings("ignore:The .*Graph is empty")
def test_random_programs_give_the_numbers_of_the_cpu() -> None:
    assert [text for seed in range(PROGRAMS) if (text := program_fuzz.difference(seed))] == []


def test_a_program_is_that_of_its_seed() -> None:
    assert str(program_fuzz.program(3)) == str(program_fuzz.program(3)) != str(program_fuzz.program(4))
