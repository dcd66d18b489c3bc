"""NCCL_* and TORCH_NCCL_*, which CUDA users set before they make a process group, under the names that the library reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Concatenate

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.mirrors.collectives import MirroredVariables

if TYPE_CHECKING:
    from typing import Any

    from torchada.redirect.types import P

# What ProcessGroupNCCL took until torch 2.15 added a device: store, rank, size and options. The adapter's class takes no device.
_ARGUMENTS = 4


def patches(context: Context) -> Iterator[Patch]:
    group = context.backend.collectives.process_group(context.torch.distributed, "nccl")
    if group is None:
        raise Skip(f"{context.backend.adapter} has no process group for NCCL")
    library = context.backend.collectives.names["nccl"].upper()
    variables = MirroredVariables(context.backend.collectives.variables, library)
    note, to = "NCCL_* and TORCH_NCCL_* in the environment", f"{library}_* and TORCH_{library}_*"
    yield Patch(variables, "NCCL", library, None, to=to, note=note)
    # Every group passes through here, under any name, before the library starts.
    init = _init(context, group.__init__, variables)
    yield Patch(group, "__init__", init, None, to=to, note=f"{note}, when a group is made")


def _init(
    context: Context, original: Callable[Concatenate[object, P], None], variables: MirroredVariables
) -> Callable[Concatenate[object, P], None]:
    construct: Any = original
    left_out = context.torch.device, type(None)

    def __init__(self: object, *args: P.args, **kwargs: P.kwargs) -> None:
        variables.bring_up_to_date()
        # Not by trying whether it is taken: the constructor may meet the other ranks before it refuses an argument.
        rest = args[_ARGUMENTS:]
        taken = args[:_ARGUMENTS] if len(rest) == 1 and isinstance(rest[0], left_out) else args
        construct(self, *taken, **kwargs)

    return disguise(__init__, original)
