"""A finding of the memory checker, read from what the simulator writes."""

from __future__ import annotations

import linecache
import os
import re
from typing import NamedTuple

_TEXT = re.compile(
    r"kernel (?P<kernel>.+?), block (?P<block>\([\d, ]+\)), thread (?P<thread>\([\d, ]+\)): (?P<kind>[^:]+): (?P<what>.*)\n"
    r"    at (?P<place>.*)(?:\n    and (?P<other>.*))?"
)


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


class Finding(NamedTuple):
    """What a thread of a kernel did at a place; `other` is the place of the other access where two are at fault."""

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
        parts = _TEXT.fullmatch(text)
        if parts is None:  # said in another way than this release's
            first, _, place = text.partition("\n    at ")
            return Finding("", "", "", "fault", first, Place.of(place.partition("\n")[0]), None)
        words = parts.groupdict()
        place, other = words.pop("place"), words.pop("other")
        return Finding(**words, place=Place.of(place), other=Place.of(other) if other else None)

    def who(self) -> str:
        """Who did it."""
        return f"kernel {self.kernel}, block {self.block}, thread {self.thread}" if self.kernel else "a kernel"

    def shown(self, root: str) -> str:
        """The finding with the lines of source that it names."""
        places = [self.place, *([self.other] if self.other else [])]
        lines = [f"{self.place}: {self.kind}: {self.what}", f"    by {self.who()}"]
        return "\n".join([*lines, *(_quoted(place, root) for place in places if place.source(root))])


def _quoted(place: Place, root: str) -> str:
    return f"    {place}:  {place.source(root)}"
