"""How many steps a function takes, counted and not timed: calls, and characters that methods of texts look at as a whole.

A call of a regular expression counts as one step, whatever it does inside; support/growth.py is for that. The counts depend
neither on the machine nor on other work.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

from support.growth import FACTOR, Input

# The methods that look at all of a text. Those that search or count do so from a place on, and may end soon.
_WHOLE = {"splitlines", "split", "replace", "translate", "decode", "encode", "lower"}
#: So many times as many steps for each byte are not more: some things are done once for a text.
SAME = 1.3


def steps(act: Callable[[bytes], object], data: bytes) -> int:
    """The steps that `act` takes."""
    total = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal total
        if event in ("call", "c_call"):
            total += 1
        if event == "c_call" and getattr(argument, "__name__", "") in _WHOLE:
            subject = getattr(argument, "__self__", b"")
            total += len(subject) if isinstance(subject, (str, bytes, bytearray)) else 0

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        act(data)
    finally:
        sys.setprofile(before)
    return total


def per_byte(act: Callable[[bytes], object], data: Input, size: int) -> tuple[float, float]:
    """Steps for each byte of an input of about `size` bytes, and of one FACTOR times as large."""
    small, large = data(size), data(FACTOR * size)
    return steps(act, small) / len(small), steps(act, large) / len(large)


def grow(act: Callable[[bytes], object], data: Input, size: int) -> bool:
    """Whether a larger input takes more steps for each byte."""
    small, large = per_byte(act, data, size)
    return large > small * SAME
