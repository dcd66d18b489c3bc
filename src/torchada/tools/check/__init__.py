"""Reads a project without running it: what it uses of CUDA, how that is answered, and what it needs of NVIDIA. Needs no torch."""

from __future__ import annotations

from torchada.tools.check.findings import RULES, Finding, Rule
from torchada.tools.check.session import Result, check
from torchada.tools.check.views import View

__all__ = ["RULES", "Finding", "Result", "Rule", "View", "check"]
