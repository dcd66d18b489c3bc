"""The times that DistributedDataParallel measures in its first iterations: PyTorch has clocks for the CPU and for CUDA alone.

Without one, each rank prints "Time stats are currently only collected for CPU and CUDA devices", and _get_ddp_logging_data() has no
times. The clock is in the library of gates, so it is there where gates are in C++.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchada.areas.kernels._gates import gates
from torchada.areas.kernels._selection import need_own_kernels
from torchada.redirect import deferred
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.owners import MISSING

_WAITING = "the clock of DistributedDataParallel"


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    if not context.torch.distributed.is_available():
        raise Skip("this torch has no torch.distributed")
    yield Patch(_Clock(context), "clock", True, None, "emulated", "events", note="times of DistributedDataParallel")


class _Clock:
    """An owner of patches: whether reducers that are made from now on get a clock."""

    __torchada_owner__ = True

    def __init__(self, context: Context) -> None:
        self._context = context
        self._is_wanted = False

    def get(self, name: str) -> Any:
        return True if self._is_wanted else MISSING

    def set(self, name: str, value: Any) -> None:
        self._is_wanted = True
        gates.when_used(self._context, _WAITING, self._start)

    def delete(self, name: str) -> None:
        self._is_wanted = False
        deferred.forget(_WAITING)
        self._turn(on=False)

    def _start(self) -> None:
        gates.GATES.found(self._context)
        self._turn(on=True)

    def _turn(self, on: bool) -> None:
        library = gates.GATES.library
        if library is not None:
            library.time_ddp(on)
