"""Comments that accept findings: `# torchada: ignore[CODE, CODE]`, or without codes, for the findings of a line.

`# torchada: ignore-file[CODE]`, in a line of its own, accepts those of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from torchada.report.severity import NOTE
from torchada.tools.check.findings import RULES, SUPPRESSION, Finding

_SIGN = b"torchada: ignore"
_COMMENT = re.compile(r"(?:#|//)\s*torchada: ignore(-file)?(?:\[([^\]]*)\])?")


class Comment:
    """One comment; `codes` are those that it names, none where it accepts all. `used`: it has accepted something."""

    def __init__(self, line: int, codes: Sequence[str], whole_file: bool, text: str) -> None:
        self.line, self.codes, self.whole_file, self.text = line, codes, whole_file, text
        self.used = False

    def accepts(self, finding: Finding) -> bool:
        """Whether it stands for the finding; it then counts as used."""
        place = self.whole_file or finding.line == self.line
        accepted = place and (not self.codes or finding.rule in self.codes)
        self.used = self.used or accepted
        return accepted

    @property
    def unknown(self) -> list[str]:
        """The codes that are none."""
        return [code for code in self.codes if code not in RULES]


def apply(path: str, data: bytes, findings: Iterable[Finding]) -> tuple[list[Finding], int]:
    """The findings of a file that no comment accepts, with those on comments that are of no use; and how many were accepted."""
    if _SIGN not in data:
        return list(findings), 0
    comments, given = list(_comments(data)), list(findings)
    # Each comment is asked, so that all that accept a finding count as used.
    left = [finding for finding in given if not [comment for comment in comments if comment.accepts(finding)]]
    return [*left, *_useless(path, comments)], len(given) - len(left)


def _comments(data: bytes) -> Iterator[Comment]:
    for number, line in enumerate(re.split(r"\r\n|\r|\n", data.decode("utf-8", "replace")), 1):
        if match := _COMMENT.search(line):
            codes = [code for code in map(str.strip, (match[2] or "").split(",")) if code]
            yield Comment(number, codes, bool(match[1]), match[0])


def _useless(path: str, comments: Iterable[Comment]) -> Iterator[Finding]:
    for comment in comments:
        why = f"there is no code {', '.join(comment.unknown)}" if comment.unknown else "it suppresses nothing"
        if comment.unknown or not comment.used:
            yield Finding(SUPPRESSION, NOTE, comment.text, why, path, comment.line, source=comment.text)
