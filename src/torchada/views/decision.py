"""What was decided for a package."""

from __future__ import annotations

from typing import NamedTuple


class Decision(NamedTuple):
    """Whether a package sees CUDA, and why."""

    sees_cuda: bool
    why: str
