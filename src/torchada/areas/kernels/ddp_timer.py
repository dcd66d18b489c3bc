"""The times that DistributedDataParallel measures in its first iterations: PyTorch has clocks for the CPU and for CUDA alone.

Without one, each rank prints "Time stats are currently only collected for CPU and CUDA devices", and _get_ddp_logging_data() has no
times. The clock is in the library of gates, so it is there where gates are in C++.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchada.areas.kernels._gates import gates
from torchada.areas.kernels._selection import need_own_kernels
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    if not context.torch.distributed.is_available():
        raise Skip("this torch has no torch.distributed")
    note = "times of DistributedDataParallel"
    yield Patch(gates.Switch(context), "time_ddp", True, None, "emulated", "events", note=note)
