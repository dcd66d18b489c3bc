"""What is wrong with an environment, and what to do about it. Runs where torch cannot be imported."""

from __future__ import annotations

from torchada.doctor.examine import document, examine, is_healthy
from torchada.doctor.facts import Facts
from torchada.doctor.gather import gather
from torchada.doctor.results import Result

__all__ = ["Facts", "Result", "document", "examine", "gather", "is_healthy"]
