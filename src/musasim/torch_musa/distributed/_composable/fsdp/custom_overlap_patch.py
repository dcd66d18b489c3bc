"""Which streams `fully_shard` uses: how much of the communication runs beside the computation.

Without settings nothing does. The vendor's private package ce_comm, by which collectives copy without kernels, is not simulated,
so torch's own collectives and hooks stay.
"""

from __future__ import annotations

import os
import warnings
from enum import Enum
from typing import Any

import torch
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPCommContext

__all__ = ["_FSDP2_OVERLAP_LEVEL", "FSDP2OverlapLevel", "_apply_custom_overlap_patch"]


class FSDP2OverlapLevel(Enum):
    """What may run beside what; each level includes those before it, as far as streams go."""

    NO_OVERLAP = 0
    #: Collectives beside computation. A program has to say what is fetched in advance.
    OVERLAP_FSDP_COMM_ONLY = 1
    #: Also a layer's copying together beside the taking apart of the one before.
    OVERLAP_FSDP_COMM_COPY_IN_WITH_COPY_OUT = 2
    #: Also a layer's copying together beside the gathering of the one before.
    OVERLAP_FSDP_COMM_COPY_IN_WITH_COMM = 3
    #: As torch does, with the sums over replicas on a stream of their own.
    OVERLAP_HSDP_COMM = 4

    END = 5


def _get_fsdp2_overlap_level() -> FSDP2OverlapLevel:
    """The level that TORCH_MUSA_FSDP2_OVERLAP_LEVEL asks for, or the older TORCH_MUSA_FSDP2_DISABLE_OVERLAP."""
    asked = os.environ.get("TORCH_MUSA_FSDP2_OVERLAP_LEVEL")
    if asked is not None:
        assert int(asked) < FSDP2OverlapLevel.END.value
        level = FSDP2OverlapLevel(int(asked)) if 0 <= int(asked) < 4 else FSDP2OverlapLevel.OVERLAP_HSDP_COMM
        if level is FSDP2OverlapLevel.OVERLAP_FSDP_COMM_ONLY:
            warnings.warn(
                "users should set prefetch order manually if using FSDP2OverlapLevel.OVERLAP_FSDP_COMM_ONLY",
                stacklevel=2,
            )
        return level
    if os.environ.get("TORCH_MUSA_FSDP2_DISABLE_OVERLAP", "1") == "0":
        warnings.warn(
            "TORCH_MUSA_FSDP2_DISABLE_OVERLAP env will be deprecated in the future, "
            "use TORCH_MUSA_FSDP2_OVERLAP_LEVEL instead",
            stacklevel=2,
        )
        return FSDP2OverlapLevel.OVERLAP_HSDP_COMM
    return FSDP2OverlapLevel.NO_OVERLAP


_FSDP2_OVERLAP_LEVEL = _get_fsdp2_overlap_level()

_init_torchs_streams: Any = FSDPCommContext.lazy_init


def comm_context_lazy_init(self: Any) -> None:
    """Give the context that all parts of a model share its streams, by the level."""
    musa: Any = torch.musa  # type: ignore[attr-defined]
    if not musa.is_available():
        raise RuntimeError("FSDP requires MUSA for streams")
    computing = musa.current_stream()
    copying, gathering, reducing, summing = tuple(
        {
            FSDP2OverlapLevel.NO_OVERLAP: "....",
            FSDP2OverlapLevel.OVERLAP_FSDP_COMM_ONLY: ".aa.",
            FSDP2OverlapLevel.OVERLAP_FSDP_COMM_COPY_IN_WITH_COPY_OUT: "aaa.",
            FSDP2OverlapLevel.OVERLAP_FSDP_COMM_COPY_IN_WITH_COMM: "abb.",
            FSDP2OverlapLevel.OVERLAP_HSDP_COMM: "abcd",
        }[_FSDP2_OVERLAP_LEVEL]
    )
    streams = {".": computing}
    for name in (copying, gathering, reducing):
        if name not in streams:
            streams[name] = musa.Stream(priority=-1)
    self.all_gather_copy_in_stream = streams[copying]
    self.all_gather_stream = streams[gathering]
    self.reduce_scatter_stream = streams[reducing]
    self.all_reduce_stream = streams[summing] if summing in streams else musa.Stream()


def _lazy_init(self: Any, *device: Any) -> None:
    _init_torchs_streams(self, *device)
    comm_context_lazy_init(self)


def _apply_custom_overlap_patch() -> None:
    context: Any = FSDPCommContext
    context.lazy_init = _lazy_init
