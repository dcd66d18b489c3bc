"""Random programs give the numbers of the CPU. The seeds are fixed; `python -m support.program_fuzz` runs others."""

from __future__ import annotations

import pytest

from support import program_fuzz

PROGRAMS = 150


@pytest.mark.filterwarnings("ignore:The .*Graph is empty")
def test_random_programs_give_the_numbers_of_the_cpu() -> None:
    assert [text for seed in range(PROGRAMS) if (text := program_fuzz.difference(seed))] == []


def test_a_program_is_that_of_its_seed() -> None:
    assert str(program_fuzz.program(3)) == str(program_fuzz.program(3)) != str(program_fuzz.program(4))
