"""The memory checker's reports are found in time in proportion to what a program wrote, whatever that is (support/growth.py)."""

from __future__ import annotations

import random

import pytest

from support.growth import LIMIT, Input, enough, growth, repeated
from support.steps import grow
from torchada.pytest_plugin.checker import findings

pytestmark = [pytest.mark.once, pytest.mark.full]

MOST = 2 * 1024 * 1024
BEGINNING = b"musasim: memcheck: "
TEXTS: dict[str, Input] = {
    "reports": repeated(BEGINNING + b"a fault\n    at a.cu:1\n    and b.cu:2\n"),
    "beginnings": repeated(BEGINNING),
    "beginnings in lines": repeated(BEGINNING + b"\n"),
    "faults without a place": repeated(BEGINNING + b"x\n"),
    "places without a fault": repeated(b"\n    at "),
    "a long fault": repeated(b"x", BEGINNING),
    "a long fault with its place": repeated(b"x", BEGINNING, b"\n    at a.cu:1"),
    "a long place": repeated(b" ", BEGINNING + b"x\n    at "),
    "second places": repeated(b"\n    and b", BEGINNING + b"x\n    at a"),
    "parts of a beginning": repeated(b"musasim: "),
    "carriage returns": repeated(b"\r", BEGINNING + b"x\n"),
    "empty lines": repeated(b"\n", BEGINNING),
    "anything": lambda size: random.Random(0).randbytes(size),
}
EACH = pytest.mark.parametrize("name", TEXTS)


def read(data: bytes) -> list[str]:
    """The findings in what was written to stderr."""
    return findings(data.decode(errors="replace"))


@EACH
def test_eight_times_an_output_takes_about_eight_times_as_long(name: str) -> None:
    def act(data: bytes) -> None:
        read(data)

    assert growth(act, TEXTS[name], enough(act, TEXTS[name], MOST)) < LIMIT


@EACH
def test_each_byte_of_a_larger_output_takes_as_many_steps(name: str) -> None:
    assert not grow(read, TEXTS[name], 2000)
