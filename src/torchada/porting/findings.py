"""What a person has to know about a ported source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

UNPORTED = "unported"
CHECK = "check"
MEANINGS = {
    UNPORTED: "left as it was, for MUSA has no counterpart",
    CHECK: "translated, or left, in a way that somebody should look at",
}


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
    """A ported source. Line n of `text` is line n of the original, or `lines_before` more where a #line directive was asked for.

    `lost` are headers that CUDA's headers include and their counterparts do not; they are included before a #line directive.
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
        return tuple(each for each in self.findings if each.kind == UNPORTED)


@dataclass
class Lines:
    """Counts the line feeds of `text` before places that come in order, each once."""

    text: bytes
    _count: int = 0
    _counted: int = 0

    def before(self, offset: int) -> int:
        self._count += self.text.count(b"\n", self._counted, offset)
        self._counted = offset
        return self._count


@dataclass
class Notes:
    """Findings under way: offsets now, lines at the end, when all are known."""

    found: list[tuple[int, str, str, str]] = field(default_factory=list)

    def add(self, offset: int, kind: str, name: str, reason: str) -> None:
        self.found.append((offset, kind, name, reason))

    def located(self, text: bytes, findings: list[Finding] | None = None) -> list[Finding]:
        """The findings with their lines. `text` begins with a line feed that is not the source's."""
        result = list(findings or ())
        lines, start, end, source = Lines(text), 0, -1, ""
        for offset, kind, name, reason in sorted(self.found):
            line = lines.before(offset)
            if offset > end:  # one line may have any number of them
                start, end = text.rfind(b"\n", 0, offset) + 1, text.find(b"\n", offset)
                end = end if end >= 0 else len(text)
                source = text[start:end].decode("utf-8", "replace").strip()[:200]
            result.append(Finding(kind, name, reason, max(line, 1), offset - start + 1, source))
        return sorted(result, key=lambda each: (each.line, each.column)) if findings else result


def moved(finding: Finding, lines: int) -> Finding:
    """The same finding `lines` further down."""
    return finding._replace(line=finding.line + lines)
