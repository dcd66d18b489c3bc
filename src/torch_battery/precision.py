"""Switches of precision that a check needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def without_tf32(wanted: bool = True) -> Iterator[None]:
    """With `wanted`, convolutions are computed in full precision; CUDA uses TF32 for them unless told otherwise."""
    before = torch.backends.cudnn.allow_tf32
    if wanted:
        torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        if wanted:
            torch.backends.cudnn.allow_tf32 = before
