"""torch.is_autocast_enabled and similar functions under torch.compile, which folds torch's C functions but finds Python ones.

Dynamo would inline ours, or the backend's, down to the C function, which it then does not know under any name of torch's. The
result is a constant of the graph, as that of the C function is, because dynamo guards the state that it depends on.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

_QUERIES = ("is_autocast_enabled", "get_autocast_dtype", "get_autocast_gpu_dtype")


def patches(context: Context) -> Iterator[Patch]:
    for name in _QUERIES:
        named = (getattr(owner, name, None) for owner in (context.torch, context.torch._C))
        for function in {id(function): function for function in named if isinstance(function, FunctionType)}.values():
            yield Patch(function, "_dynamo_marked_constant", True, None, note=f"torch.{name} under torch.compile")
