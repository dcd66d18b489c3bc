"""`fully_shard` without overlap: nothing is kept for a stream that could still be using it, because there is one stream.

torch keeps the parameters gathered last, and the gradients that are being reduced, until an event has passed. With one stream
each can be freed at once, so the peak of memory is lower.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.distributed.fsdp._fully_shard import _fsdp_collectives, _fsdp_param_group
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup

__all__ = ["_apply_fsdp2_patches"]

_gather: Any = _fsdp_collectives.foreach_all_gather
_wait: Any = FSDPParamGroup.wait_for_unshard
_after_backward: Any = FSDPParamGroup.post_backward


def wait_for_unshard_non_overlap(self: Any) -> None:
    """Take the gathered parameters apart, and free what was gathered."""
    _wait(self)
    self.comm_ctx.all_gather_state = None


def post_backward_non_overlap(self: Any, *unused: Any) -> None:
    """Reduce the gradients, and free what was reduced."""
    _after_backward(self, *unused)
    context = self.comm_ctx
    if hasattr(context, "reduce_scatter_state"):
        context.reduce_scatter_state = None
    else:  # newer releases keep several
        context.reduce_scatter_states.clear()


def foreach_all_gather_non_overlap(*arguments: Any, **keywords: Any) -> Any:
    """Gather the parameters; nobody has to wait for an event."""
    result = _gather(*arguments, **keywords)
    return None if result is None else result._replace(all_gather_event=None)


def _setup_fsdp2_patches() -> None:
    """Choose streams, and do without overlap where the settings or the chip ask for it.

    It is called by the first `fully_shard`, because to ask for the chip initialises the device.
    """
    from . import custom_overlap_patch as overlap

    musa: Any = torch.musa  # type: ignore[attr-defined]
    if musa.core._utils._get_musa_arch() < 31:
        overlap._FSDP2_OVERLAP_LEVEL = overlap.FSDP2OverlapLevel.NO_OVERLAP
        warnings.warn("The overlapping of FSDP2 was disabled on musa arch older than mp_31", stacklevel=3)
    overlap._apply_custom_overlap_patch()
    if overlap._FSDP2_OVERLAP_LEVEL is overlap.FSDP2OverlapLevel.NO_OVERLAP:
        _do_without_overlap()


def _do_without_overlap() -> None:
    group: Any = FSDPParamGroup
    group.wait_for_unshard = wait_for_unshard_non_overlap
    group.post_backward = post_backward_non_overlap
    for module in (_fsdp_collectives, _fsdp_param_group):
        vars(module)["foreach_all_gather"] = foreach_all_gather_non_overlap


def monkey_patched_fully_shard(fully_shard_func: Callable[..., Any]) -> Callable[..., Any]:
    """`fully_shard_func`, whose first call makes the changes."""
    done = False

    @functools.wraps(fully_shard_func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        nonlocal done
        if not done:
            _setup_fsdp2_patches()
            done = True
        return fully_shard_func(*args, **kwargs)

    return wrapper


def _apply_fsdp2_patches() -> None:
    fsdp: Any = sys.modules["torch.distributed.fsdp"]  # its import may be under way
    fsdp.fully_shard = monkey_patched_fully_shard(fsdp.fully_shard)


_apply_fsdp2_patches()
