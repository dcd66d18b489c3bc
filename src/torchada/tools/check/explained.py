"""What the codes of findings stand for."""

from __future__ import annotations

from torchada.report.explanations import Explanation
from torchada.tools.check.findings import RULES

EXPLANATIONS = tuple(
    Explanation(code, "check", f"{rule.looks_for}.", rule.why, rule.advice, "how-to/check.md#what-is-found")
    for code, rule in RULES.items()
)
