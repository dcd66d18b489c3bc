"""The part of a long list that a run takes, so that several runs share it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Part:
    """The `number`-th of `count` parts, which take turns: "2/8"."""

    number: int = 1
    count: int = 1

    @classmethod
    def read(cls, text: str) -> Part:
        """Raises ValueError for what is no part."""
        match = re.fullmatch(r"(\d+)/(\d+)", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise ValueError(f"{text!r} is no part: expected I/N with I from 1 to N, such as 2/8")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def of(self, items: Sequence[T]) -> list[T]:
        """Its items of all."""
        return list(items[self.number - 1 :: self.count])
