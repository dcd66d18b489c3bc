"""Faults inside a collective of NCCL: the other ranks end with an error that says what happened, and nothing is left running."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from support.launch import PROGRAMS, Outcome, Running, by_hand, started

pytestmark = [pytest.mark.once, pytest.mark.slow]

TIMEOUT = 5
#: Seconds that the others may take beyond the time-out; a loaded machine takes long.
GRACE = 30
GONE = "remote process exited or there was a network error"
LATE = "Watchdog caught collective operation timeout"
OTHER = "do not call the same operation on tensors that fit together"
CALLS = ("all_reduce", "broadcast", "reduce_scatter", "all_to_all", "coalesced")


def is_gone(program: Running) -> bool:
    """Whether no process of its group is left, the children included."""
    try:
        os.killpg(program.process.pid, 0)
    except ProcessLookupError:
        return True
    return False


def seconds_until_late(done: Outcome) -> float:
    """How long the operation ran, by the error itself; 0 where no time-out was met."""
    found = re.findall(r"ran for (\d+) milliseconds before timing out", done.output)
    return max(map(int, found), default=0) / 1000


def ended(command: list[object], ranks: int, folder: Path) -> list[Outcome]:
    """What the ranks answered, rank 1 last: it is killed if it is stopped."""
    with started(*[[str(word) for word in command]] * ranks, folder=folder, envs=by_hand(ranks)) as running:
        first, struck, *more = running
        done = [each.wait() for each in (first, *more)]
        struck.process.kill()
        done.append(struck.wait(TIMEOUT + GRACE))
        assert all(is_gone(each) for each in running)
    return done


@pytest.mark.parametrize("sent", ["SIGKILL", "SIGSTOP"])
@pytest.mark.parametrize(
    ("call", "ranks"),
    [
        ("all_reduce", 2),
        ("broadcast", 2),
        ("all_to_all", 2),
        ("messages", 2),
        ("pair", 2),
        ("coalesced", 2),
        ("reduce_scatter", 3),
        ("coalesced", 3),
    ],
)
def test_the_others_say_that_a_rank_is_lost_inside(tmp_path: Path, sent: str, call: str, ranks: int) -> None:
    *others, struck = ended([PROGRAMS / "within.py", sent, call, TIMEOUT], ranks, tmp_path)
    assert struck.code == -signal.SIGKILL and f"rank 1 gets {sent} inside {call}" in struck.output
    for done in others:
        assert done.code == 1 and "DistBackendError" in done.output, done.output
        assert LATE in done.output or (sent == "SIGKILL" and GONE in done.output), done.output
        assert seconds_until_late(done) < TIMEOUT + GRACE


def test_a_collective_that_a_rank_skips_or_calls_with_another_shape(tmp_path: Path) -> None:
    """As many calls but one: it is waited for. Another operation or shape in its place: every rank is told, by MCCL's simulator."""
    command = [str(PROGRAMS / "lost.py"), "2"]
    with started(command, command, folder=tmp_path, envs=by_hand(2)) as running:
        texts = [each.wait().must_succeed().output for each in running]
        assert all(is_gone(each) for each in running)
    said = [dict(re.findall(rf"^(\w+ \w+): rank {rank}: (.*)$", text, re.M)) for rank, text in enumerate(texts)]
    for call in CALLS:
        assert LATE in said[0][f"skips_one {call}"] and said[1][f"skips_one {call}"] == "no error"
        for each in said:
            assert OTHER in each[f"skips_one_of_two_kinds {call}"] and OTHER in each[f"has_another_shape {call}"]
    assert LATE in said[0]["skips_one pair"] and said[1]["skips_one pair"] == "no error"
    assert "a message does not fit the tensor it is received into" in said[1]["has_another_shape pair"]
