"""An area of the toy's: what its adapter does not answer as CUDA would, answered where torchada redirects torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchada.redirect.engine import Patch, Skip

MODULES = ("torch",)


def patches(context: Any) -> Iterator[Patch]:
    if context.backend.name != "toy":
        raise Skip("it concerns the toy")
    yield Patch(context.torch.cuda, "get_arch_list", _get_arch_list, "torch.cuda.get_arch_list", kind="emulated")


def _get_arch_list() -> list[str]:
    return ["toy_1"]
