"""How the time of a function grows with its input.

Regular expressions cannot be made to count their steps, so two sizes are compared in one process, by processor time. FACTOR times
the input takes about FACTOR times as long, and FACTOR squared times as long where every place is compared with all that follow.
The limit lies between the two, nearer to the second, because what other processes do to the caches adds to the first alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable

FACTOR, LIMIT = 8, 36
ENOUGH = 0.005  # seconds; what takes less is not measured well

Input = Callable[[int], bytes]  # an input of about so many bytes


def repeated(unit: bytes, before: bytes = b"", after: bytes = b"") -> Input:
    """A unit over and over."""
    return lambda size: before + unit * (size // len(unit)) + after


def numbered(unit: bytes, before: bytes = b"", after: bytes = b"") -> Input:
    """Units that all differ, by a number in each."""
    return lambda size: before + b"".join(unit % number for number in range(size // (len(unit) + 3))) + after


def seconds(act: Callable[[bytes], object], data: bytes) -> float:
    """The processor time of `act`."""
    started = time.process_time()
    act(data)
    return time.process_time() - started


def growth(act: Callable[[bytes], object], data: Input, size: int) -> float:
    """How much longer FACTOR times the input takes; the least of three, because other work of the machine only adds to it."""
    ratios = []
    for _ in range(3):
        ratios.append(seconds(act, data(FACTOR * size)) / max(seconds(act, data(size)), 1e-9))
        if ratios[-1] < FACTOR * 1.4:
            break
    return min(ratios)


def enough(act: Callable[[bytes], object], data: Input, most: int) -> int:
    """A size that takes long enough to be measured, up to `most`."""
    size = 4 * 1024
    while seconds(act, data(size)) < ENOUGH and size < most:
        size *= 2
    return size
