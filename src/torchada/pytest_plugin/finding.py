"""A finding of the checkers of memory and of streams, read from what the simulator writes."""

from __future__ import annotations

import linecache
import os
import re
from typing import NamedTuple

_FAULT = r": (?P<kind>[^:]+): (?P<what>.*)\n    at (?P<place>.*)(?:\n    and (?P<other>.*))?"
_IN_KERNEL = re.compile(
    r"kernel (?P<kernel>.+?), block (?P<block>\([\d, ]+\)), thread (?P<thread>\([\d, ]+\))" + _FAULT
)
_BETWEEN_STREAMS = re.compile(r"(?P<work>the host|\S.* on (?:stream \d+|the default stream) of device \d+)" + _FAULT)


class Place(NamedTuple):
    """A line of source, or a place in a library (with the line 0) where nobody knows the line."""

    file: str
    line: int

    @staticmethod
    def of(text: str) -> Place:
        """Read `file:line`."""
        file, _, line = text.rpartition(":")
        return Place(file, int(line)) if file and line.isdecimal() else Place(text, 0)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    def source(self, root: str) -> str:
        """The text of the line, where its file is to be found; relative paths are looked up below `root`."""
        path = os.path.join(root, self.file)
        linecache.checkcache(path)
        return linecache.getline(path, self.line).strip()


def is_of_kernel(text: str) -> bool:
    """Whether the simulator's text is of a thread of a kernel, or else of the work of two streams."""
    return _BETWEEN_STREAMS.fullmatch(text) is None


class Finding(NamedTuple):
    """What a thread of a kernel did at a place; `other` is the place of the other access where two are at fault.

    Of two streams, `kernel` says which work of which stream it was, or that it was the host; there is no block and no thread then.
    """

    kernel: str
    block: str
    thread: str
    kind: str
    what: str
    place: Place
    other: Place | None

    @staticmethod
    def of(text: str) -> Finding:
        """Read the simulator's text."""
        if between := _BETWEEN_STREAMS.fullmatch(text):
            words = between.groupdict()
            words |= {"kernel": words.pop("work"), "block": "", "thread": ""}
        elif in_kernel := _IN_KERNEL.fullmatch(text):
            words = in_kernel.groupdict()
        else:  # said in another way than this release's
            first, _, place = text.partition("\n    at ")
            return Finding("", "", "", "fault", first, Place.of(place.partition("\n")[0]), None)
        place, other = words.pop("place"), words.pop("other")
        return Finding(**words, place=Place.of(place), other=Place.of(other) if other else None)

    def who(self) -> str:
        """Who did it."""
        return (
            f"kernel {self.kernel}, block {self.block}, thread {self.thread}"
            if self.block
            else self.kernel or "a kernel"
        )

    def shown(self, root: str) -> str:
        """The finding with the lines of source that it names."""
        places = [self.place, *([self.other] if self.other else [])]
        lines = [f"{self.place}: {self.kind}: {self.what}", f"    by {self.who()}"]
        return "\n".join([*lines, *(_quoted(place, root) for place in places if place.source(root))])


def _quoted(place: Place, root: str) -> str:
    return f"    {place}:  {place.source(root)}"
