"""Operators of aten by the names that torch.library takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch._ops import OpOverload


def overload(torch: Any, name: str) -> OpOverload:
    """torch.ops.aten.add.out for "add.out", and its default overload for "add"."""
    packet, _, rest = name.partition(".")
    operator: OpOverload = getattr(getattr(torch.ops.aten, packet), rest or "default")
    return operator
