"""Scheduling: Inductor's C++ backend makes the kernels."""

from __future__ import annotations

from torch._inductor.codegen.cpp import CppScheduling


class MUSACppScheduling(CppScheduling):
    """CppScheduling for nodes on the device, whose memory the CPU's kernels can read.

    Each kernel is written before the next node, as a device's kernels are. What waits in between, such as a synchronization, would
    otherwise come before the kernel, and the kernel after its inputs are freed.
    """

    def ready_to_flush(self) -> bool:
        return True
