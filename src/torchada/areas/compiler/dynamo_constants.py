"""torch.is_autocast_enabled and its like under torch.compile, which folds torch's own C functions and finds a Python one there.

Ours, or the backend's, would be inlined down to the C function, which dynamo does not know by any name of torch's then. Its
answer is a constant of the graph, as that of the C function is: dynamo guards the state that it depends on.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

_QUESTIONS = ("is_autocast_enabled", "get_autocast_dtype", "get_autocast_gpu_dtype")


def patches(context: Context) -> Iterator[Patch]:
    for name in _QUESTIONS:
        function = getattr(context.torch, name, None)
        if isinstance(function, FunctionType):
            yield Patch(function, "_dynamo_marked_constant", True, None, note=f"torch.{name} under torch.compile")
