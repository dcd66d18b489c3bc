"""How much work findings ask for, and what share of a project's uses of CUDA runs unchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from torchada.report.severity import ERROR, WARNING
from torchada.tools.check.findings import BUILD, IMPORT, PROGRAM, REQUIREMENT, Finding

UNCHANGED, LOOK, REPLACE, REWRITE = "unchanged", "look", "replace", "rewrite"
MEANINGS = {
    UNCHANGED: "runs unchanged",
    LOOK: "somebody should look at it",
    REPLACE: "a package, an image or a program is to be replaced by another",
    REWRITE: "code is to be written anew",
}
_OF_ENVIRONMENTS = (BUILD, IMPORT, PROGRAM, REQUIREMENT)


class Effort(NamedTuple):
    """How many findings are in each class, and the share of them, from 0 to 1, that runs unchanged."""

    classes: dict[str, int]
    share: float


def of(findings: Iterable[Finding]) -> Effort:
    """The effort of a project's findings; nothing to do is a share of 1."""
    counts = Counter(map(_class, findings))
    total = counts.total()
    return Effort({name: counts.get(name, 0) for name in MEANINGS}, counts[UNCHANGED] / total if total else 1.0)


def _class(finding: Finding) -> str:
    if finding.severity not in (ERROR, WARNING):
        return UNCHANGED
    if finding.severity == WARNING:
        return LOOK
    return REPLACE if finding.rule in _OF_ENVIRONMENTS else REWRITE
