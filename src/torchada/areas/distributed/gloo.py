"""Tensors of the device in a group of gloo. CUDA's go through the CPU inside gloo, which knows no other device: others go here.

That begins when such a group first meets a tensor of the device, and not with a group for the CPU that stands beside NCCL's.
The same functions give errors of groups the words of NCCL: pybind11 makes these errors without asking torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.distributed._collectives import Collectives, collectives
from torchada.areas.distributed._staging import Staging
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    Function = Callable[..., Any]

_STEP = "gloo"
_API, _TO = (
    'torch.distributed.init_process_group("gloo") with tensors of the device',
    "gloo on the CPU, between two copies",
)
# The methods of a group that take tensors. Some are newer than the oldest torch.
_METHODS = (
    "broadcast",
    "allreduce",
    "allreduce_coalesced",
    "reduce",
    "allgather",
    "_allgather_base",
    "allgather_coalesced",
    "allgather_into_tensor_coalesced",
    "reduce_scatter",
    "_reduce_scatter_base",
    "reduce_scatter_tensor_coalesced",
    "gather",
    "scatter",
    "alltoall",
    "alltoall_base",
    "send",
    "recv",
    "recv_anysource",
)


def patches(context: Context) -> Iterator[Patch]:
    distributed = context.torch.distributed
    if not distributed.is_available() or not distributed.is_gloo_available():
        raise Skip("torch was built without gloo")
    if context.backend.computes_on:
        raise Skip(f"gloo takes tensors of {context.backend.computes_on}")
    staging, steps, group = Staging(context), collectives(context.torch), distributed.ProcessGroup
    yield Patch(steps, _STEP, staging, None, kind="emulated", to=_TO, note=_API)
    for name in _METHODS:
        if name in vars(group):
            yield Patch(
                group,
                name,
                _noticing(context, steps, staging, vars(group)[name]),
                None,
                kind="emulated",
                to=_TO,
                note=_API,
            )
    # What DistributedDataParallel begins with.
    name = "_verify_params_across_processes"
    verify = _noticing(context, steps, staging, getattr(distributed, name), f"distributed.{name}")
    yield Patch(distributed, name, verify, None, kind="emulated", to=_TO, note=_API)
    register = _registering(context, steps, vars(group)["_register_backend"])
    yield Patch(group, "_register_backend", register, None, kind="emulated", to=_TO, note=_API)


def _noticing(
    context: Context, steps: Collectives, staging: Staging, original: Function, path: str | None = None
) -> Function:
    """`original`, whose first argument is a group, and which pickle finds at `path` within torch."""

    def call(group: Any, *args: Any, **kwargs: Any) -> Any:
        if group.name() == "gloo" and staging.device((args, tuple(kwargs.values()))) is not None:
            steps.begin(_STEP)
        try:
            return original(group, *args, **kwargs)
        except (RuntimeError, TypeError, ValueError) as error:
            from torchada.redirect.backend_words import error_of_cuda  # no error is raised at the start

            raise error_of_cuda(error, context) from error.__cause__

    return disguise(call, original, path)


def _registering(context: Context, steps: Collectives, original: Function) -> Function:
    """A program whose group of all is gloo's may begin with anything, such as a tensor that is distributed."""
    members, device_type = context.torch.distributed.GroupMember, context.backend.device_type

    def _register_backend(self: Any, device: Any, *args: Any, **kwargs: Any) -> Any:
        if device.type == device_type and self.name() == "gloo" and members.WORLD is None:
            steps.begin(_STEP)
        return original(self, device, *args, **kwargs)

    return disguise(_register_backend, original)
