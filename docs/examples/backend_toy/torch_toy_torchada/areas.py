"""Where the toy's namespace does not answer as CUDA would, torchada puts these answers into torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchada.redirect.engine import Patch, Skip

AREAS = {"torch": ("architectures",)}


def architectures(context: Any) -> Iterator[Patch]:
    """torch.cuda.get_arch_list, which the toy's namespace has not."""
    if context.backend.name != "toy":
        raise Skip("the device is not the toy")
    yield Patch(context.torch.cuda, "get_arch_list", _get_arch_list, "torch.cuda.get_arch_list", kind="emulated")


def _get_arch_list() -> list[str]:
    return ["toy_10"]
