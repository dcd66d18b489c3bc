"""What is wrong with an environment, and what to do about it. Runs where torch cannot be imported."""

from __future__ import annotations

from torchada.doctor.examine import document, examine, is_healthy
from torchada.doctor.facts import Facts
from torchada.doctor.gather import backend_here, gather
from torchada.doctor.results import Result

__all__ = ["Facts", "Result", "backend_here", "document", "examine", "gather", "is_healthy"]
