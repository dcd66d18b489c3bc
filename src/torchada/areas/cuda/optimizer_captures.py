"""Optimizers check whether their step is being captured in a graph; torch asks only on the devices that it lists by name.

Without the check, a step of an optimizer that is not capturable is recorded with the step count of the moment, silently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from typing import Any, Protocol

    class Optimizer(Protocol):
        param_groups: list[dict[str, Any]]


# torch had the second name alone until 2.12.
_NAMES = ("_accelerator_graph_capture_health_check", "_cuda_graph_capture_health_check")
# torch's own words.
_REFUSED = "Attempting CUDA graph capture of step() for an instance of {} but param_groups' capturable is False."


def patches(context: Context) -> Iterator[Patch]:
    optimizer = context.torch.optim.Optimizer
    is_capturing = getattr(context.namespace, "is_current_stream_capturing", None)
    if is_capturing is None:
        raise Skip(f"{context.backend.adapter} has no graphs")
    for name in _NAMES:
        if name in vars(optimizer):
            check = _check(is_capturing, context.torch.compiler.is_compiling)
            yield Patch(
                optimizer,
                name,
                disguise(check, vars(optimizer)[name]),
                None,
                note="the check of optimizers whose step is captured in a graph",
            )


def _check(is_capturing: Callable[[], bool], is_compiling: Callable[[], bool]) -> Callable[[Optimizer], None]:
    def check(self: Optimizer) -> None:
        if not is_compiling() and is_capturing() and not all(group["capturable"] for group in self.param_groups):
            raise RuntimeError(_REFUSED.format(type(self).__name__))

    return check
