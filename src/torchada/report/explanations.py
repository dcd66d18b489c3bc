"""What a code stands for that torchada prints or writes: the rule of a finding, the check of the doctor, the kind of an answer."""

from __future__ import annotations

from typing import NamedTuple

PAGES = "https://github.com/MooreThreads/torchada/blob/main/docs/"


class Explanation(NamedTuple):
    """`meaning`: what it says; `why`: why that matters; `advice`: what to do; `page`: where to read on, below `docs`."""

    code: str
    command: str
    meaning: str
    why: str
    advice: str
    page: str


def address(page: str) -> str:
    """The address of a page of the documentation, which a user of the wheel does not have as a file."""
    return PAGES + page
