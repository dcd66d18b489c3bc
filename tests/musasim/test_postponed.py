"""MUSASIM_SEED: work of streams runs in an order that they allow, so a wait that is missing shows with some number."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from support.interpreter import Interpreter
from support.memcheck import compiled, run

HERE = Path(__file__).parent
SOURCE = HERE / "device" / "postponed.mu"
BESIDE_TORCH = (HERE / "streams" / "postponed.py").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^RUN\((\w+)\) \{", SOURCE.read_text(encoding="utf-8"), re.MULTILINE)
PLANTED, RIGHT = PROGRAMS[:7], PROGRAMS[7:]
SEEDS = [str(seed) for seed in range(1, 17)]
RIGHT_ANSWER = f"0 {[float(number) for number in range(1, 65)]}\n"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE.name, tmp_path_factory.mktemp("postponed"), memcheck="0")


def answer(library: Path, program: str, shift: int, seed: str, **more: str) -> str:
    return run(library, program, shift, "0", MUSASIM_SEED=seed, **more).stdout


@pytest.mark.once
@pytest.mark.parametrize("program", PLANTED)
def test_a_wait_that_is_missing_shows_with_some_seed_and_again_with_the_same(library: Path, program: str) -> None:
    assert answer(library, program, 1, "") == RIGHT_ANSWER
    found = next((seed for seed in SEEDS if answer(library, program, 1, seed) != RIGHT_ANSWER), None)
    assert found is not None
    assert answer(library, program, 1, found) == answer(library, program, 1, found) != RIGHT_ANSWER


@pytest.mark.once
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_right_program_gives_the_same_with_any_seed(library: Path, program: str) -> None:
    assert len(RIGHT) >= 6
    assert {answer(library, program, 0, seed) for seed in ["", *SEEDS[:8]]} == {RIGHT_ANSWER}


@pytest.mark.once
def test_a_fault_is_told_of_at_the_latest_where_the_host_waits(library: Path) -> None:
    assert {answer(library, "a_fault", 0, seed)[0] for seed in SEEDS[:8]} == {"1", "2"}


@pytest.mark.once
@pytest.mark.parametrize("setting", ["MUSASIM_STREAMCHECK", "MUSA_LAUNCH_BLOCKING"])
def test_nothing_waits_with_a_checker_or_where_launches_block(library: Path, setting: str) -> None:
    answers = {answer(library, "another_stream", 1, seed, **{setting: "1"}) for seed in SEEDS[:12]}
    assert answers == {RIGHT_ANSWER}


@pytest.mark.musa
@pytest.mark.slow
def test_beside_operators_of_pytorch(musa: Interpreter, library: Path) -> None:
    def of(wait: bool, seed: str) -> dict[str, bool]:
        code = f"{BESIDE_TORCH}\nprint(of({str(library)!r}, {wait}))\n"
        right: dict[str, bool] = ast.literal_eval(musa.run(code, env={"MUSASIM_SEED": seed}, forked=True).stdout)
        return right

    planted, always_right = 4, 3
    for seed in SEEDS[:4]:
        assert list(of(True, seed).values()) == [True] * (planted + always_right)
    answers = [list(of(False, seed).values()) for seed in SEEDS[:10]]
    assert all(all(each[planted:]) for each in answers)
    assert not any(all(each[program] for each in answers) for program in range(planted))
