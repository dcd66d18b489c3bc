"""What is wrong with an environment, and what to do about it. Runs where torch cannot be imported."""

from __future__ import annotations

from torchada.tools.doctor.collect import backend_here, gather
from torchada.tools.doctor.examine import document, examine, is_healthy
from torchada.tools.doctor.facts import Facts
from torchada.tools.doctor.results import Result

__all__ = ["Facts", "Result", "backend_here", "document", "examine", "gather", "is_healthy"]
