"""What a person has to know about a ported source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

UNPORTED = "unported"
CHECK = "check"
MEANINGS = {
    UNPORTED: "left as it was, for MUSA has no counterpart",
    CHECK: "translated, or left, in a way that somebody should look at",
}


MOST = 10_000
"""How many findings of one source are listed. Further ones are counted in a last one of their kind."""


class PortingError(Exception):
    """A source, a tree or a project's rules that cannot be ported; nothing has been written."""


class OutputError(PortingError):
    """The output folder holds files that torchada did not write there, or that were changed since."""


class Finding(NamedTuple):
    """One name in one place: `line` and `column` count from 1, in the source as in the result; `source` is the line's text."""

    kind: str
    name: str
    reason: str
    line: int
    column: int
    source: str = ""


@dataclass(frozen=True)
class Ported:
    """A ported source. Line n of `text` is line n of the original, or `lines_before` further down.

    `lost` are headers that CUDA's headers include and their counterparts do not, and that `text` does not include either: ported
    files and trees include them in lines of their own before the first.
    """

    text: bytes
    findings: tuple[Finding, ...] = ()
    replacements: int = 0
    lines_before: int = 0
    lost: tuple[str, ...] = ()

    def original_line(self, line: int) -> int:
        """The line of the original from which line `line` (from 1) of `text` was made."""
        return max(1, line - self.lines_before)

    @property
    def unported(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.kind == UNPORTED)


@dataclass
class Lines:
    """Counts the line feeds of `text` before offsets that are asked for in ascending order, so that nothing is read twice."""

    text: bytes
    _count: int = 0
    _counted: int = 0

    def before(self, offset: int) -> int:
        self._count += self.text.count(b"\n", self._counted, offset)
        self._counted = offset
        return self._count


@dataclass
class Notes:
    """The findings of a source while it is ported: `located` turns offsets into lines. Beyond MOST they are only counted."""

    noted: list[tuple[int, str, str, str]] = field(default_factory=list)
    inner: list[Finding] = field(default_factory=list)
    _more: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.noted or self.inner)

    def add(self, offset: int, kind: str, name: str, reason: str) -> None:
        if self._has_room():
            self.noted.append((offset, kind, name, reason))
        else:
            self._count(offset, kind)

    def add_inner(self, offset: int, findings: Sequence[Finding], lines: int) -> None:
        """Add the findings of a program or an expression that stands at `offset`, below `lines` lines; without room, count them."""
        if self._has_room():
            self.inner += [moved(finding, lines) for finding in findings]
        else:
            for finding in findings:
                self._count(offset, finding.kind)

    def _has_room(self) -> bool:
        return len(self.noted) + len(self.inner) < MOST

    def _count(self, offset: int, kind: str) -> None:
        first, count = self._more.get(kind, (offset, 0))
        self._more[kind] = (first, count + 1)

    def located(self, text: bytes) -> list[Finding]:
        """The findings with their lines. `text` begins with a line feed that is not the source's."""
        more = [(first, kind, "...", f"{count:,} more from here on") for kind, (first, count) in self._more.items()]
        result = list(self.inner)
        lines, start, end, source = Lines(text), 0, -1, ""
        for offset, kind, name, reason in sorted(self.noted + more):
            line = lines.before(offset)
            if offset > end:  # one line may have any number of them
                start, end = text.rfind(b"\n", 0, offset) + 1, text.find(b"\n", offset)
                end = end if end >= 0 else len(text)
                source = text[start:end].decode("utf-8", "replace").strip()[:200]
            result.append(Finding(kind, name, reason, max(line, 1), offset - start + 1, source))
        return sorted(result, key=lambda finding: (finding.line, finding.column)) if self.inner else result


def moved(finding: Finding, lines: int) -> Finding:
    """The same finding `lines` further down."""
    return finding._replace(line=finding.line + lines)
